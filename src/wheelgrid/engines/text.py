"""Text that comes from tools and tests, made fit for records and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MAX_TEXT", "Cleaner"]

MAX_TEXT = 4096
"""Characters of a text that are kept."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_URL = re.compile(r"(?:https?|file)://[^\s\"'<>()\[\]]+")


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Takes out what a public record must not hold: control characters, paths of the machine
    and addresses of package indexes other than the published ones that compat/ names.
    """

    root: Path
    home: str
    published: frozenset[str]

    @classmethod
    def of(cls, root: Path, home: str, urls: Iterable[str]) -> Cleaner:
        """Build from the project folder, the home folder and the published addresses."""
        return cls(root, home.rstrip("/"), frozenset(url.rstrip("/") for url in urls if url))

    def _address(self, match: re.Match[str]) -> str:
        url = match[0]
        known = any(url == p or url.startswith(p + "/") for p in self.published)
        return url if known else "<index>"

    def clean(self, text: str) -> str:
        """The text, bounded and without the machine."""
        found = _URL.sub(self._address, _CONTROL.sub("", text))
        found = found.replace(f"{self.root}/", "").replace(str(self.root), ".")
        if len(self.home) > 1:
            found = found.replace(f"{self.home}/", "~/")
        return found[:MAX_TEXT]
