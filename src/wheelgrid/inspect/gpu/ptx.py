"""Names of the kernels in PTX text.

Source: NVIDIA, Parallel Thread Execution ISA, "Kernel and Function Directives: .entry".
"""

from __future__ import annotations

import re

from wheelgrid.inspect.gpu.payload import MOST_KERNELS, PIECE, Payload, PayloadError

__all__ = ["list_ptx_kernels"]

_WORD = b".entry"
_ENTRY = re.compile(rb"\.entry\s+([A-Za-z_$%][\w$]*)")
_OTHER = re.compile(rb'[/"]|[\w$.]\Z')
"""What shows, before `.entry` in its line, that it is in a comment, string or longer word."""
_ENDS = (b";\n", b"{\n", b"}\n", b")\n")
_MOST_LINE = 1 << 20


def _find(text: bytes, payload: Payload) -> list[bytes]:
    """Names after `.entry`, but for those in a comment or a string."""
    names = []
    at = -1
    payload.spend(text.count(_WORD))
    while (at := text.find(_WORD, at + 1)) >= 0:
        match = _ENTRY.match(text, at)
        before = text[text.rfind(b"\n", 0, at) + 1 : at]
        if match and not _OTHER.search(before):
            names.append(match[1])
    return names


def _cut(text: bytes) -> int:
    """How much can be searched: a name may stand in the line after `.entry`."""
    for end in _ENDS:
        if (at := text.rfind(end)) >= 0:
            return at + len(end)
    return 0


def list_ptx_kernels(payload: Payload) -> set[bytes]:
    """Names of all entries in the text; PayloadError if it is no PTX or cannot be decoded."""
    names: set[bytes] = set()
    kept = b""
    is_ptx = False
    while piece := payload.read(PIECE):
        text = kept + piece
        is_ptx = is_ptx or b".version" in text
        cut = _cut(text)
        names.update(_find(text[:cut], payload))
        kept = text[cut:]
        if not is_ptx:
            break
        if len(kept) > _MOST_LINE or len(names) > MOST_KERNELS:
            raise PayloadError("PTX with too many kernels or too long a line")
    if not is_ptx:
        raise PayloadError("no PTX text")
    return names.union(_find(kept, payload))
