"""The files of a .dist-info folder, read within bounds: headers, tags, RECORD.

Sources: the binary distribution format and the core metadata specifications (packaging.python.org).
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterable, Iterator
from email.message import Message
from email.parser import HeaderParser
from math import prod

from packaging.tags import Tag, parse_tag

from wheelgrid.inspect.archive import MAX_MEMBERS, DamageError

__all__ = ["MAX_TAGS", "all_tags", "headers", "record_hash", "record_rows"]

MAX_TAGS = 1000
"""Tags that a compressed set, or all of a WHEEL file, may stand for."""
_MAX_HEAD = 1 << 20
_MAX_HEADERS = 20_000
_MAX_LINE = 64 * 1024
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n")
_TEXT_SUFFIXES = (".py", ".pyi", ".h", ".hpp", ".cuh", ".cu", ".json", ".yaml", ".txt", ".pyc")


def headers(text: bytes) -> Message:
    """The headers of METADATA or WHEEL, without the description; DamageError beyond measure."""
    head = _BLANK.split(text[:_MAX_HEAD], maxsplit=1)[0]
    if head.count(b"\n") > _MAX_HEADERS:
        msg = f"has more than {_MAX_HEADERS} lines of headers"
        raise DamageError(msg)
    return HeaderParser().parsestr(head.decode("utf-8", errors="replace"))


def all_tags(lines: Iterable[object]) -> frozenset[Tag]:
    """The tags of all lines, as far as a wheel can have so many."""
    found: set[Tag] = set()
    for line in lines:
        if len(found) > MAX_TAGS:
            break
        found |= _tags(str(line))
    return frozenset(found)


def _tags(text: str) -> frozenset[Tag]:
    """The tags of a compressed set; nothing for one that is malformed or explodes."""
    parts = text.split("-")
    if len(parts) != 3 or prod(p.count(".") + 1 for p in parts) > MAX_TAGS:  # noqa: PLR2004
        return frozenset()
    try:
        return frozenset(parse_tag(text))
    except ValueError:
        return frozenset()


def _record_lines(text: bytes) -> Iterator[str]:
    """Lines of RECORD, of which no honest one is long; DamageError for a file beyond measure."""
    for number, line in enumerate(io.BytesIO(text)):
        if number > MAX_MEMBERS or len(line) > _MAX_LINE:
            msg = f"has more than {MAX_MEMBERS} rows, or one of more than {_MAX_LINE} bytes"
            raise DamageError(msg)
        yield line.decode("utf-8", errors="replace")


def record_rows(text: bytes, *, whole: bool) -> Iterator[tuple[str, tuple[str, str]]]:
    """Rows of RECORD: path, and digest with size; unless `whole`, without those of source text.

    DamageError for a file beyond measure, csv.Error for one that is none.
    """
    for row in csv.reader(_record_lines(text)):
        if len(row) == 3 and (whole or not row[0].endswith(_TEXT_SUFFIXES)):  # noqa: PLR2004
            yield row[0], (row[1], row[2])


def record_hash(sha256: str) -> str:
    """A digest as RECORD spells it (urlsafe base64 without padding)."""
    return "sha256=" + base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()
