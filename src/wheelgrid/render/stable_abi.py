"""CPython's stable ABI as a small table: which Python 3 minor brought each symbol.

Made from abi3info, which carries Misc/stable_abi.toml of CPython. Inspection reads the table alone:
the package would take 18 MiB of memory and 0.1 s at every start.
"""

from __future__ import annotations

import json
from importlib.metadata import version

from wheelgrid.core.errors import CouldNotCheckError

__all__ = ["stable_abi_text"]


def stable_abi_text() -> str:
    """The table as JSON; CouldNotCheckError where abi3info is not installed."""
    try:
        from abi3info import DATAS, FUNCTIONS
    except ImportError as error:
        msg = "abi3info is not installed, so the table of the stable ABI cannot be made"
        raise CouldNotCheckError(msg, hint="install the dependency group `test`") from error
    known = {s.name: entry.added for table in (FUNCTIONS, DATAS) for s, entry in table.items()}
    document = {
        "comment": "Rendered by `wheelgrid render`. Do not edit.",
        "source": f"CPython, Misc/stable_abi.toml, through abi3info {version('abi3info')}",
        "since": {name: added.minor for name, added in sorted(known.items())},
    }
    return json.dumps(document, indent=1) + "\n"
