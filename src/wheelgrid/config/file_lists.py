"""Reads lists of files: one name a line, a JSON or HTML page of an index, assets of a release.

Pages follow PEP 691 and PEP 700 (JSON) and PEP 503 (HTML); `{"assets": [{"name": ...}]}` is what
GitHub says of a release. All are foreign input: bounded, and every fault is reported.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import Fault
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.wheelname import read_name

__all__ = ["MAX_PAGE_BYTES", "decode_list"]

MAX_PAGE_BYTES = 64 << 20
"""Largest page that is read; the JSON of the largest projects is some 10 MB."""
_MOST_FILES = 200_000
_NOT_FILES = (".metadata", ".asc", ".sig", ".sha256", ".provenance", "-variants.json")


class _Decoder:
    """The faults of one list, with the place of each."""

    def __init__(self, file: str, faults: Faults) -> None:
        self.file = file
        self.faults = faults

    def fault(self, message: str, *, path: str = "", line: int = 0, column: int = 0) -> None:
        """Record one fault."""
        self.faults.found.append(
            Fault(file=self.file, path=path, line=line, column=column, message=message)
        )

    def text(self, value: object, path: str) -> str:
        """A string, or empty for null; anything else is a fault."""
        if value is None or isinstance(value, str):
            return value or ""
        self.fault(f"expected a string, found {json.dumps(value)[:40]}", path=path)
        return ""

    def yanked(self, value: object, path: str) -> str | None:
        """The reason of a yanked file (PEP 691: a boolean or a string); None where it is not."""
        if value is None or value is False:
            return None
        if value is True:
            return ""
        return self.text(value, path)

    def entry(self, item: object, path: str) -> ListedFile | None:
        """One file of a JSON page."""
        if not isinstance(item, dict):
            self.fault(f"expected an object, found {json.dumps(item)[:40]}", path=path)
            return None
        name = item.get("filename", item.get("name"))
        if not isinstance(name, str):
            self.fault("has no filename", path=path)
            return None
        if name.endswith(_NOT_FILES):
            return None
        hashes = item.get("hashes")
        page = "filename" in item
        return ListedFile(
            name=read_name(name),
            requires_python=self.text(item.get("requires-python"), f"{path}.requires-python"),
            yanked=self.yanked(item.get("yanked"), f"{path}.yanked"),
            uploaded=self.text(item.get("upload-time"), f"{path}.upload-time"),
            hashed=bool(hashes) if page else None,
            knows_python=page,
        )

    def json(self, text: str) -> list[ListedFile]:
        """A JSON page."""
        try:
            document: Any = json.loads(text)
        except json.JSONDecodeError as error:
            self.fault(f"is not JSON: {error.msg}", line=error.lineno, column=error.colno)
            return []
        except (RecursionError, ValueError) as error:
            self.fault(f"is not JSON that can be read: {type(error).__name__}")
            return []
        key = ""
        if isinstance(document, dict):
            key = next((k for k in ("files", "assets") if isinstance(document.get(k), list)), "")
            document = document.get(key)
        if not isinstance(document, list):
            self.fault("has no list of files: expected `files` (PEP 691) or `assets`")
            return []
        found = (self.entry(item, f"{key}[{i}]") for i, item in enumerate(document[:_MOST_FILES]))
        return [file for file in found if file is not None]


class _Links(HTMLParser):
    """The anchors of a PEP 503 page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.files: list[ListedFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one anchor's file name and data attributes."""
        given = dict(attrs)
        if tag != "a" or not given.get("href") or len(self.files) >= _MOST_FILES:
            return
        try:
            url = urlsplit(str(given["href"]))
        except ValueError:
            return
        name = unquote(url.path).rpartition("/")[2]
        if not name or name.endswith(_NOT_FILES):
            return
        yanked = given.get("data-yanked", "") or "" if "data-yanked" in given else None
        self.files.append(
            ListedFile(
                name=read_name(name),
                requires_python=given.get("data-requires-python") or "",
                yanked=yanked,
                hashed="=" in url.fragment,
                knows_python=True,
            )
        )


def _lines(text: str) -> list[ListedFile]:
    """One name a line; empty lines and lines that begin with # are left out."""
    lines = (line.strip() for line in text.splitlines()[:_MOST_FILES])
    kept = (line for line in lines if line and not line.startswith("#"))
    return [ListedFile(name=read_name(n)) for n in kept if not n.endswith(_NOT_FILES)]


def decode_list(data: bytes, *, file: str, faults: Faults) -> tuple[ListedFile, ...]:
    """The files of a list in any of its forms; faults are collected, with their places."""
    decoder = _Decoder(file, faults)
    if len(data) > MAX_PAGE_BYTES:
        decoder.fault(f"is larger than {MAX_PAGE_BYTES} bytes")
        return ()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        decoder.fault(f"is not UTF-8: byte {error.start} is {data[error.start]:#x}")
        return ()
    start = text.lstrip()[:1]
    if start in {"{", "["}:
        return tuple(decoder.json(text))
    if start == "<":
        links = _Links()
        links.feed(text)
        links.close()
        return tuple(links.files)
    return tuple(_lines(text))
