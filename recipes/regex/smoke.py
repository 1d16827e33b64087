# SPDX-License-Identifier: Apache-2.0
"""Smoke test of an installed regex wheel.

The checks use what the standard `re` module lacks, and compare a common subset with `re`
itself. The last line of standard output is one JSON object with the outcome of each check.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import Any

import regex
import regex._regex


def equal(name: str, got: object, want: object) -> None:
    """Raise when a result is not the expected one."""
    if got != want:
        raise AssertionError(f"{name}: {got!r}, expected {want!r}")


def levenshtein(left: str, right: str) -> int:
    """Compute the edit distance in plain Python."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            change = previous + (a != b)
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, change)
    return row[-1]


def native_check() -> str:
    """Check that regex._regex is the compiled module, next to the package's Python files."""
    module = regex._regex
    path = Path(module.__file__ or "").resolve()
    if not isinstance(module.__spec__.loader, ExtensionFileLoader):
        raise AssertionError(f"loaded by {module.__spec__.loader!r}")
    if not path.name.endswith(tuple(EXTENSION_SUFFIXES)):
        raise AssertionError(f"not an extension module: {path.name}")
    equal("folder", path.parent, Path(regex.__file__).resolve().parent)
    equal("type of a pattern", type(regex.compile("a")).__module__, "_regex")
    return path.name


def possessive_check() -> str:
    """Check possessive quantifiers and atomic groups, which never give back."""
    equal("greedy", regex.fullmatch(r"a*ab", "aaab") is not None, True)
    equal("possessive", regex.fullmatch(r"a*+ab", "aaab"), None)
    equal("atomic", regex.fullmatch(r"(?>a|ab)c", "abc"), None)
    return "a*+ and (?>...) do not give back"


def fuzzy_check() -> str:
    """Check the counts of approximate matches against an edit distance in plain Python."""
    words = ["kitten", "sitten", "sitting", "mitten", "kit", "bitter", "knitted"]
    for word in words:
        match = regex.fullmatch(r"(?e)(?:kitten){e<=3}", word)
        distance = levenshtein("kitten", word)
        found = sum(match.fuzzy_counts) if match else None
        equal(f"errors of {word}", found, distance if distance <= 3 else None)
    equal("substitution", regex.fullmatch(r"(?:cats){s<=1}", "cuts").fuzzy_counts, (1, 0, 0))
    equal("insertion", regex.fullmatch(r"(?:cats){i<=1}", "carts").fuzzy_counts, (0, 1, 0))
    equal("deletion", regex.fullmatch(r"(?:cats){d<=1}", "cas").fuzzy_counts, (0, 0, 1))
    return f"{len(words)} words; counts agree with the edit distance"


def overlapped_check() -> str:
    """Check overlapping matches against all windows of the text."""
    text = "banananana"
    want = [text[k : k + 3] for k in range(len(text) - 2) if text[k : k + 3] == "ana"]
    equal("overlapped", regex.findall("ana", text, overlapped=True), want)
    equal("not overlapped", len(regex.findall("ana", text)), text.count("ana"))
    return f"{len(want)} overlapping matches"


def named_list_check() -> str:
    """Check a named list, which may hold characters that are special in patterns."""
    options = ["first", "a.b", "(x)"]
    pattern = regex.compile(r"\L<options>", options=options)
    equal("matches", pattern.findall("first axb a.b (x) second"), ["first", "a.b", "(x)"])
    equal("named_lists", pattern.named_lists, {"options": frozenset(options)})
    return "literal members only"


def unicode_check() -> str:
    """Check general categories against unicodedata, then a script and a grapheme."""
    for category in ("Lu", "Nd", "Sc", "Pd"):
        pattern = regex.compile(rf"\p{{{category}}}")
        for point in range(0x250):
            want = unicodedata.category(chr(point)) == category
            equal(f"U+{point:04X} in {category}", pattern.match(chr(point)) is not None, want)
    text = "abc \u03b1\u03b2\u03b3 \u0430\u0431"
    equal("script", regex.findall(r"\p{Script=Greek}+", text), ["\u03b1\u03b2\u03b3"])
    equal("grapheme", regex.findall(r"\X", "e\u0301x"), ["e\u0301", "x"])
    return "4 categories over 592 code points, a script, a grapheme"


def structure_check() -> str:
    """Check recursion, variable lookbehind, branch reset, set operations and captures."""
    nested = regex.compile(r"\((?:[^()]++|(?R))*\)")
    equal("recursion", nested.search("f(a(b)(c(d)))e)").group(), "(a(b)(c(d)))")
    equal("lookbehind", regex.findall(r"(?<=a+)b", "ab aab b"), ["b", "b"])
    equal("branch reset", regex.match(r"(?|(a)|(b))c", "bc").groups(), ("b",))
    equal("sets", regex.findall(r"(?V1)[[a-z]--[aeiou]]+", "audio tape"), ["d", "t", "p"])
    equal("captures", regex.match(r"(\w)+", "abc").captures(1), ["a", "b", "c"])
    return "recursion, lookbehind, branch reset, sets, captures"


def partial_check() -> str:
    """Check partial matches and the time limit."""
    match = regex.fullmatch(r"\d{4}-\d{2}", "2026-", partial=True)
    equal("partial", (match.partial, match.group()), (True, "2026-"))
    equal("impossible", regex.fullmatch(r"\d{4}-\d{2}", "20x", partial=True), None)
    try:
        regex.fullmatch(r"(?:a|aa)+b\1?(x)?", "a" * 60, timeout=0.05)
    except TimeoutError:
        return "partial match; a slow match is stopped"
    raise AssertionError("the time limit was not honoured")


def agreement_check() -> str:
    """Check that a common subset gives what `re` gives."""
    text = "The 3 quick-brown foxes, 12 of 144, jump_over: x=1;y=22\nEnd. \u00e9t\u00e9"
    patterns = [r"\w+", r"\d+", r"(\w)=(\d+)", r"(?m)^\w", r"(?i)the|end", r"\b\w{3}\b", r"[^\s\w]"]
    for pattern in patterns:
        equal(pattern, regex.findall(pattern, text), re.findall(pattern, text))
        equal(f"sub {pattern}", regex.sub(pattern, "<>", text), re.sub(pattern, "<>", text))
        equal(f"split {pattern}", regex.split(pattern, text), re.split(pattern, text))
    return f"{len(patterns)} patterns, each with findall, sub and split"


CHECKS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("native", native_check),
    ("possessive", possessive_check),
    ("fuzzy", fuzzy_check),
    ("overlapped", overlapped_check),
    ("named-list", named_list_check),
    ("unicode", unicode_check),
    ("structure", structure_check),
    ("partial", partial_check),
    ("agreement", agreement_check),
)


def run(name: str, check: Callable[[], str]) -> dict[str, Any]:
    """Run one check and describe how it ended."""
    try:
        return {"name": name, "outcome": "passed", "detail": check()}
    except Exception as error:  # a smoke test reports every failure, whatever its type
        return {"name": name, "outcome": "failed", "detail": f"{type(error).__name__}: {error}"}


def main() -> int:
    """Run all checks, print the report and return the exit status."""
    results = [run(name, check) for name, check in CHECKS]
    print(json.dumps({"checks": results}))
    return 1 if any(r["outcome"] == "failed" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
