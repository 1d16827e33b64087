"""Tells failures of the machine from failures of the package, by what tools print."""

from __future__ import annotations

import re

__all__ = ["DISK_FULL", "infrastructure_fault"]

DISK_FULL = "the disk is full"

_FAULTS = (
    (
        DISK_FULL,
        r"No space left on device|Errno 28|ENOSPC|more space needed on the|Disk quota exceeded",
    ),
    (
        "out of memory",
        r"Cannot allocate memory|virtual memory exhausted|Killed signal terminated program|"
        r"std::bad_alloc|fatal error: Killed|signal 9 \(core dumped\)",
    ),
    (
        "the network failed",
        r"Could not resolve host|dns error|Temporary failure in name resolution|"
        r"Request failed after|error sending request|Connection reset by peer|"
        r"Connection timed out|Network is unreachable",
    ),
)


def infrastructure_fault(output: str) -> str:
    """What of the machine or network failed, if the output says so; else empty.

    Such a run says nothing about the package: its outcome is unknown, not failed.
    """
    return next((name for name, pattern in _FAULTS if re.search(pattern, output)), "")
