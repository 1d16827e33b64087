"""Kills the registered process groups when wheelgrid dies, however it dies.

Started once per run. Reads lines `+PGID` and `-PGID` on standard input; at its end (wheelgrid
exited or was killed with SIGKILL, so the pipe closed) every group still registered is killed:
no compiler goes on writing for a run that is gone. Standard library only.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Keep the set of groups until the end of input, then kill what is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        sign, number = line[:1], line[1:].strip()
        if sign == "+" and number.isdigit():
            groups.add(int(number))
        elif sign == "-" and number.isdigit():
            groups.discard(int(number))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
