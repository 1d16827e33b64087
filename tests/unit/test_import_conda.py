"""The importer of conda files: selectors, zips, pruning."""

from __future__ import annotations

import pytest

from wheelgrid.core.errors import BadInputError
from wheelgrid.importers.conda import CondaOptions, import_conda
from wheelgrid.importers.report import Imported, Level
from wheelgrid.importers.selectors import Selectors, selector_of

PINNING = """
c_compiler_version:            # [unix]
  - 14                         # [linux]
  - 14                         # [linux and os.environ.get("CF_CUDA_ENABLED", "False") == "True"]
  - 19                         # [osx]
cuda_compiler_version:
  - None
  - 12.9    # [((linux and not ppc64le) or win64) and os.environ.get("CF_CUDA_ENABLED") == "True"]
python:
  # part of a zip_keys: python, python_impl, numpy
  - 3.10.* *_cpython    # [not (win and arm64)]
  - 3.11.* *_cpython    # [not (win and arm64)]
  - 3.12.* *_cpython    # [not (win and arm64)]
  - 3.14.* *_cp314
python_impl:
  - cpython    # [not (win and arm64)]
  - cpython    # [not (win and arm64)]
  - cpython    # [not (win and arm64)]
  - cpython
numpy:
  - 2          # [not (win and arm64)]
  - 2          # [not (win and arm64)]
  - 2          # [not (win and arm64)]
  - 2.1
target_goexe:
  -            # [unix]
  - .exe       # [win]
pin_run_as_build:
  zeromq:
    max_pin: x.x  # [not win]
    max_pin: x.x.x  # [win]
zip_keys:
  -                             # [unix]
    - c_compiler_version        # [unix]
    - cuda_compiler_version     # [linux and os.environ.get("CF_CUDA_ENABLED", "False") == "True"]
  -
    - python
    - numpy
    - python_impl
"""


def conda(
    text: str, platform: str = "linux-64", *, uses: str = "", settings: dict[str, str] | None = None
) -> Imported:
    options = CondaOptions(
        file="cbc.yaml",
        name="cbc.yaml",
        as_of="2026-12-01",
        platform=platform,
        uses=tuple(uses.split(",")) if uses else (),
        settings=settings or {},
    )
    return import_conda(text, options)


@pytest.mark.parametrize(
    ("platform", "count"), [("linux-64", 4), ("osx-arm64", 4), ("win-64", 4), ("win-arm64", 1)]
)
def test_the_pythons_depend_on_the_platform(platform: str, count: int) -> None:
    """S11: four Pythons on linux-64, one on win-arm64: a global minimum is wrong."""
    found = conda(PINNING, platform, uses="python")
    assert len(found.cells) == count
    assert found.cells[-1] == {"python": "3.14.* *_cp314"}


def test_zips_vary_together_and_keep_text_as_written() -> None:
    """3.10 stays 3.10, 2 stays 2; a value left blank is empty text."""
    found = conda(PINNING)
    assert found.candidates == 4
    assert found.cells[0] == {
        "c_compiler_version": "14",
        "cuda_compiler_version": "None",
        "python": "3.10.* *_cpython",
        "python_impl": "cpython",
        "numpy": "2",
        "target_goexe": "",
    }
    assert [cell["numpy"] for cell in found.cells] == ["2", "2", "2", "2.1"]


def test_settings_stand_for_the_environment() -> None:
    """The environment of the machine is never read."""
    settings = {"CF_CUDA_ENABLED": "True"}
    found = conda(PINNING, settings=settings, uses="cuda_compiler_version,c_compiler_version")
    assert [c["cuda_compiler_version"] for c in found.cells] == ["None", "12.9"]
    assumed = [f.message for f in conda(PINNING).findings if f.code == "assumed-setting"]
    assert len(assumed) == 1
    assert "CF_CUDA_ENABLED, taken as" in assumed[0]


def test_a_zip_group_with_one_used_member_has_distinct_rows() -> None:
    """As conda-smithy trims unused zip keys."""
    found = conda(PINNING, uses="python_impl")
    assert found.cells == [{"python_impl": "cpython"}]
    assert "4 rows, 1 distinct" in found.findings[-1].message


def test_a_flat_zip_is_an_error() -> None:
    """rattler-build #1868: it was ignored in silence."""
    text = "python: [a, b]\nnumpy: [c, d]\nzip_keys: [python, numpy]\n"
    with pytest.raises(BadInputError, match="zip_keys must be a list of lists") as caught:
        conda(text)
    assert caught.value.faults[0].line == 3


def test_unequal_lengths_are_an_error_with_both_counts() -> None:
    """At the variable that differs."""
    text = "a: [1, 2]\nb: [1, 2]\nc: [1]\nzip_keys: [[a, b, c]]\n"
    with pytest.raises(BadInputError, match="a has 2, b has 2, c has 1") as caught:
        conda(text)
    assert caught.value.faults[0].line == 3


def test_a_variable_zipped_twice_is_an_error() -> None:
    """Its values could follow only one group."""
    with pytest.raises(BadInputError, match="'a' is zipped twice"):
        conda("a: [1]\nb: [1]\nc: [1]\nzip_keys: [[a, b], [a, c]]\n")


def test_unknown_uses_and_nested_values_are_errors() -> None:
    """Each with the nearest name or what was found."""
    with pytest.raises(BadInputError, match="did you mean 'python'"):
        conda(PINNING, uses="pyhton")
    with pytest.raises(BadInputError, match="expected a list of values, found a mapping"):
        conda("a: {b: c}\n")
    with pytest.raises(BadInputError, match="expected text, found a list"):
        conda("a: [[b]]\n")


def test_rows_without_a_deciding_variable_become_tables() -> None:
    """No column has distinct values, and still exactly these rows."""
    text = "a: [1, 1, 2, 2]\nb: [x, y, x, x]\nc: [p, q, p, q]\nzip_keys: [[a, b, c]]\n"
    found = conda(text)
    assert len(found.cells) == 4
    assert found.text.count("otherwise: drop") == 2


def test_too_many_variants_ask_for_uses() -> None:
    """Forty variables of two values: nobody wants that product."""
    text = "".join(f"v{n}: [a, b]\n" for n in range(40))
    found = conda(text)
    assert [f.level for f in found.findings] == [Level.UNKNOWN]
    assert "--uses" in found.findings[0].message
    assert len(conda(text, uses="v1,v2").cells) == 4


@pytest.mark.parametrize(
    ("line", "selector"),
    [
        ("  - a  # [linux]", "linux"),
        ("  - a  # why [linux64 or osx]  ", "linux64 or osx"),
        ("  - a  # [win] for now", "win"),
        ("  - a  # see (issue) [x](y)", ""),
        ("# [linux]", ""),
        ("python: [3.9, 3.10]", ""),
        ("python: [3.9, 3.10]  # [osx]", "osx"),
        ("  - a#[linux]", ""),
    ],
)
def test_a_selector_stands_in_the_comment(line: str, selector: str) -> None:
    """Lists are no selectors."""
    assert selector_of(line) == selector


@pytest.mark.parametrize(
    ("selector", "platform", "holds"),
    [
        ("linux64", "linux-64", True),
        ("linux64 or osx", "osx-arm64", True),
        ("osx and x86_64", "osx-arm64", False),
        ("not (aarch64 or ppc64le)", "linux-aarch64", False),
        ("win", "win-arm64", True),
        ("win64", "win-arm64", False),
        ("arm64", "win-arm64", True),
        ("unix", "win-64", False),
        ("target_platform == 'linux-64'", "linux-64", True),
        ("target_platform in ('linux-64', 'osx-64')", "osx-arm64", False),
        ("target_platform not in ('osx-64',)", "osx-arm64", True),
        ("py >= 310 and py < 312", "linux-64", True),
        ("np == 126", "linux-64", False),
        ('os.environ.get("BUILD_PLATFORM", "").startswith("linux-")', "linux-64", True),
        ('os.environ.get("NOT_SET")', "linux-64", False),
        ('environ.get("NOT_SET", "x") != "x"', "linux-64", False),
        ("False or not not linux", "linux-64", True),
        ("'linux' in target_platform", "linux-64", True),
    ],
)
def test_selectors(selector: str, platform: str, holds: bool) -> None:
    """Names, not, and, or, comparisons, and the environment as given."""
    settings = {"py": "311", "np": "200", "BUILD_PLATFORM": "linux-64"}
    assert Selectors(platform, settings).holds(selector) is holds


@pytest.mark.parametrize(
    "selector",
    [
        "__import__('os').system('x')",
        "linux if True else osx",
        "lambda: 1",
        "linux; osx",
        "os.system('x')",
        "linux and",
        "(linux",
        "py > 'a'",
        "solaris9",
        "1.5",
        "linux linux",
        "not " * 100 + "linux",
        "(" * 100 + "linux" + ")" * 100,
        "linux.startswith('l')",
    ],
)
def test_anything_else_is_refused(selector: str) -> None:
    """There is no eval()."""
    with pytest.raises(ValueError, match=r"\S"):
        Selectors("linux-64", {"py": "311"}).holds(selector)


def test_a_bad_selector_has_a_position() -> None:
    """And all of them are reported."""
    with pytest.raises(BadInputError) as caught:
        conda("a:  # [linux &&  osx]\n  - 1\nb: [2]  # [foo]\n")
    assert [(f.line, f.column) for f in caught.value.faults] == [(1, 7), (3, 11)]


def test_awkward_but_legal_files() -> None:
    """A single value, an unknown zip key, an empty zip, a variable without values here."""
    text = "a: 3.10\nb: [x, y]\nc:  # a list\n  - z  # [win]\nzip_keys:\n  - [b, nowhere]\n  -\n"
    found = conda(text)
    assert found.cells == [{"a": "3.10", "b": "x"}, {"a": "3.10", "b": "y"}]
    assert [f.code for f in found.findings] == ["unknown-zip-key", "no-value"]
    assert conda("a: [x]\nzip_keys:\n").cells == [{"a": "x"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "expected a mapping of variables, found a list"),
        ("a: [x]  # [win]", "is empty"),
        ("pin_run_as_build: {}", "defines no variable with a value on linux-64"),
        ("a: [x]\nzip_keys: a", "zip_keys must be a list of lists"),
    ],
)
def test_files_without_a_matrix_are_faults(text: str, message: str) -> None:
    """With the platform where it matters."""
    with pytest.raises(BadInputError, match=message):
        conda(text)
