"""Which Python a cibuildwheel selector takes."""

from __future__ import annotations

import pytest

from wheelgrid.scan.selected import selects


@pytest.mark.parametrize(
    ("text", "version", "word"),
    [
        ("cp310-*", "3.10", "cp310-*"),
        ("cp39-* cp310-manylinux_x86_64", "3.10", "cp310-manylinux_x86_64"),
        ("cp3{9,10,11}-*", "3.10", "cp3{9,10,11}-*"),
        ("cp3{9..11}-*", "3.10", "cp3{9..11}-*"),
        ("cp3{9,{10,11}}-*", "3.10", "cp3{9,{10,11}}-*"),
        ("cp31?-*", "3.10", "cp31?-*"),
        ("cp31[0-2]-manylinux*", "3.10", "cp31[0-2]-manylinux*"),
        ("cp31{3,4}t-*", "3.13t", "cp31{3,4}t-*"),
    ],
)
def test_a_selector_that_names_the_python_in_any_spelling_takes_it(
    text: str, version: str, word: str
) -> None:
    assert selects(text, version) == word


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cp311-* cp312-*",
        "cp3{11..15}-*",
        "cp31[1-5]-*",
        "pp310-*",
        "cp3100-*",
        "cp31{0-*",  # an open brace is a plain character
    ],
)
def test_one_that_takes_other_pythons_does_not(text: str) -> None:
    assert selects(text, "3.10") == ""


@pytest.mark.parametrize("text", ["*", "cp3*-manylinux_x86_64", "*-win_amd64", "cp*"])
def test_one_that_takes_every_python_names_none(text: str) -> None:
    """Then the range of Pythons that the project declares decides, and is judged itself."""
    assert selects(text, "3.10") == ""


@pytest.mark.parametrize("text", ["cp{3,4}" * 28 + "-*", "{" * 190, "cp3{1..999}{1..999}-*"])
def test_braces_stay_bounded(text: str) -> None:
    """As text these stand for more words than fit in memory."""
    assert selects(text, "3.11x") == ""
