"""Imports the package named on the command line and prints what happened, as JSON.

Run in its own process so that an import that exits, aborts or crashes is a result and not the
end of the tool. Standard library only.
"""

import importlib
import json
import sys
import warnings


def main() -> int:
    """Import, and say whether the GIL is still off where the interpreter started without it."""
    name = sys.argv[1]
    gil = getattr(sys, "_is_gil_enabled", None)
    before = gil() if gil else True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            module = importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever an import raises is the result
            print(json.dumps({"imported": False, "why": f"{type(error).__name__}: {error}"[:2000]}))
            return 1
    print(
        json.dumps(
            {
                "imported": True,
                "version": str(getattr(module, "__version__", "")),
                "gil_enabled_by_import": bool(gil and gil() and not before),
                "warnings": [str(w.message)[:500] for w in caught][:10],
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
