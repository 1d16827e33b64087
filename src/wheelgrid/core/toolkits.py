"""Two facts that one number hides: the toolkit that compiles, and the CUDA of the torch wheel."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

__all__ = ["torch_toolkit"]


def torch_toolkit(toolkit: Version, listed: Iterable[Version]) -> Version | None:
    """The CUDA (or ROCm) of the torch to build against: the highest listed not above the toolkit.

    Compared by the numbers that the listing has (12.9.1 is not above 12.9), and within one major
    version, which minor version compatibility does not leave. None where torch lists none.
    """

    def fits(version: Version) -> bool:
        size = len(version.release)
        return version.major == toolkit.major and version.release <= toolkit.release[:size]

    return max(filter(fits, listed), default=None)
