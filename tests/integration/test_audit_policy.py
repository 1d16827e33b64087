"""Policies of the audit through the command line: files, recipes, exceptions, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wheelgrid.cli.main import run

pytestmark = pytest.mark.integration

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]
MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
CUDA = Path(__file__).parents[1] / "fixtures" / "cuda" / "cuda130_sharedcudart_sm90_120_ptx.so"
EXCEPTION = """\
exceptions:
  - rule: WG403
    member: "demo/*.so"
    reason: The folder is made by our own installer
    until: "{until}"
    link: https://example.org/issues/1
    owner: packaging
"""


@pytest.fixture
def bad(wheel_of: MakeWheel, compiled: Compile) -> Path:
    """A wheel with one error: a RUNPATH that leaves the installation."""
    return wheel_of({"demo/_C.so": compiled(MODULE, "-Wl,-rpath,/opt/lib")})


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    code = run(["audit", "--json", *arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out)["wheels"][0] if out else None, err


def rules(document: Any) -> list[str]:  # noqa: ANN401 - JSON
    return [f["rule"] for f in document["findings"]]


def test_an_exception_accepts_a_finding_up_to_its_day(
    bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(EXCEPTION.format(until="2027-01-31"), encoding="utf-8")
    arguments = (str(bad), "--policy", str(policy))
    code, document, _ = shown(capsys, *arguments, "--as-of", "2027-01-31")
    assert (code, document["outcome"], rules(document)) == (0, "passed", [])
    (waived,) = document["waived"]
    assert waived["rule"] == "WG403"
    assert waived["until"] == "2027-01-31"
    assert waived["reason"] == "The folder is made by our own installer"
    assert run(["audit", *arguments, "--as-of", "2027-01-31"]) == 0
    text = capsys.readouterr().out
    assert "WG403 excepted error: demo/_C.so: has RUNPATH /opt/lib" in text


def test_an_exception_past_its_day_is_an_error_of_its_own(
    bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(EXCEPTION.format(until="2027-01-31"), encoding="utf-8")
    arguments = (str(bad), "--policy", str(policy), "--as-of", "2027-02-01")
    code, document, _ = shown(capsys, *arguments)
    assert (code, rules(document)) == (1, ["WG403", "WG601"])
    assert (
        "ended on 2027-01-31; see https://example.org/issues/1"
        in (document["findings"][1]["message"])
    )


def test_an_exception_that_nothing_needs(
    wheel_of: MakeWheel, compiled: Compile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(EXCEPTION.format(until="2030-01-01"), encoding="utf-8")
    wheel = wheel_of({"demo/_C.so": compiled(MODULE)})
    code, document, _ = shown(capsys, str(wheel), "--policy", str(policy), "--as-of", "2026-12-01")
    assert (code, rules(document)) == (0, ["WG601"])
    assert document["findings"][0]["level"] == "warning"


def test_a_bad_policy_gives_all_its_faults_at_once(
    bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "ceilings: {size: 300, warn: many, sise: 1 MB}\n"
        "exceptions:\n"
        "  - {rule: WG999, reason: ' ', until: tomorrow, link: nowhere}\n"
        "  - {rule: WG105, reason: x, until: '2027-01-01', link: https://a.b}\n"
        "  - {rule: WG403}\n"
        "archs: '8.0 hooper'\n"
        "floor: manylinux_2_28_x86_64\n"
        "accelerators: [cuda, vulkan]\n"
        "excludes: ['lib foo']\n"
        "extra: 1\n",
        encoding="utf-8",
    )
    code, document, err = shown(capsys, str(bad), "--policy", str(policy))
    assert (code, document) == (2, None)
    for words in (
        "policy.yaml:1:18: ceilings.size: expected a string",
        "'many' is not a size",
        "unknown key 'sise'",
        "'WG999' is no rule of the audit",
        "an exception needs a reason",
        "'tomorrow' is not a date",
        "'nowhere' is not an address",
        "WG105 cannot be excepted",
        "missing key 'until'",
        "'hooper' is no GPU target",
        "is not a platform tag without CPU",
        "vulkan",
        "'lib foo' is not the name of a library",
        "unknown key 'extra'",
    ):
        assert words in err, words


def test_a_policy_file_that_is_not_there(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = shown(capsys, str(bad), "--policy", "no-such.yaml")
    assert code == 2
    assert "no-such.yaml" in err


def test_the_policy_of_the_recipe(
    project: Path, wheel_of: MakeWheel, compiled: Compile, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = wheel_of({"regex/_regex.so": compiled(MODULE)}, name="regex")
    recipe = project / "recipes" / "regex" / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(f'{text}audit: {{ceilings: {{size: "1 kB"}}}}\n', encoding="utf-8")
    root = ["--root", str(project), "audit", "--json", str(wheel)]
    assert run([*root, "--policy", "recipe"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["wheels"][0]["findings"]
    assert found["rule"] == "WG307"
    assert "the policy allows 1000" in found["message"]
    assert run(root) == 0
    capsys.readouterr()
    recipe.write_text(f"{text}audit: {{ceilings: {{size: big}}, nope: 1}}\n", encoding="utf-8")
    assert run([*root, "--policy", "recipe"]) == 2
    err = capsys.readouterr().err
    assert "recipes/regex/recipe.yaml:" in err
    assert "audit.ceilings.size: 'big' is not a size" in err
    assert "unknown key 'nope'" in err


def test_a_package_without_a_recipe(
    project: Path, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(project), "audit", str(bad), "--policy", "recipe"]) == 2
    assert "recipes/demo/recipe.yaml" in capsys.readouterr().err


def test_declared_archs_on_the_command_line(
    wheel_of: MakeWheel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Public case W04 as users run it."""
    wheel = wheel_of({"demo/_C.so": CUDA.read_bytes()}, version="1.0+cu130")
    code, document, _ = shown(capsys, str(wheel), "--archs", "9.0 10.0 12.0+PTX")
    assert code == 1
    assert rules(document).count("WG302") == 1
    code, document, _ = shown(capsys, str(wheel), "--archs", "9.0;12.0+PTX")
    assert "WG302" not in rules(document)
    code, document, err = shown(capsys, str(wheel), "--archs", "9.0 ninety")
    assert (code, document) == (2, None)
    assert "'ninety' is no GPU target" in err


def test_what_is_known_of_torch_comes_from_the_project(
    wheel_of: MakeWheel,
    compiled: Compile,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inside, a shim of 2.13 is known; outside, the audit says what it left out."""
    source = 'extern "C" { void torch_exception_get_what(); }\nvoid f() { '
    library = compiled(MODULE + source + "torch_exception_get_what(); }")
    wheel = wheel_of({"demo/_C.so": library}, requires=("torch>=2.9",))
    code, document, _ = shown(capsys, str(wheel))
    assert code == 1
    assert rules(document) == ["WG413"]
    assert "needs torch 2.13.0 (torch_exception_get_what)" in document["findings"][0]["message"]
    monkeypatch.chdir(tmp_path)
    code, document, err = shown(capsys, str(wheel))
    assert (code, rules(document)) == (0, [])
    assert "no project here: what compat/ knows of torch was not compared" in err


def test_a_torch_to_compare_with_on_the_command_line(
    wheel_of: MakeWheel, compiled: Compile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Public case W02 as users run it: an installed torch, and a folder that is none."""
    lib = tmp_path / "site" / "torch" / "lib"
    lib.mkdir(parents=True)
    has = "namespace c10 { namespace cuda { void SetDevice(int) {} } }"
    (lib / "libc10.so").write_bytes(compiled(has))
    uses = "namespace c10 { namespace cuda { void SetDevice(signed char); } }\n"
    library = compiled(f"{MODULE}{uses}void f() {{ c10::cuda::SetDevice(0); }}")
    wheel = wheel_of({"demo/_C.so": library}, requires=("torch==2.14.*",))
    code, document, _ = shown(capsys, str(wheel), "--against", str(tmp_path / "site"))
    assert code == 1
    (found,) = (f for f in document["findings"] if f["rule"] == "WG414")
    assert "(signature)" in found["message"]
    assert run(["audit", str(wheel), "--against", str(tmp_path / "stubs")]) in {2, 3}
    assert run(["audit", str(wheel), "--against", str(tmp_path / "none")]) == 2


def test_the_document_follows_its_schema(
    bad: Path, tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(EXCEPTION.format(until="2030-01-01"), encoding="utf-8")
    assert run(["audit", "--json", str(bad), "--policy", str(policy), "--as-of", "2026-12-01"]) == 0
    document = json.loads(capsys.readouterr().out)
    folder = repository / "src" / "wheelgrid" / "schemas"
    schema = json.loads((folder / "audit.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    assert document["wheels"][0]["waived"]


def test_equal_findings_share_a_line(
    wheel_of: MakeWheel, compiled: Compile, capsys: pytest.CaptureFixture[str]
) -> None:
    library = compiled(MODULE, "-Wl,-rpath,/opt/lib")
    members = {f"demo/_{n}.so": library + bytes([n]) for n in range(5)}
    assert run(["audit", str(wheel_of(members))]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "WG403" in line]
    assert lines == [
        "  WG403 error: demo/_0.so, demo/_1.so, demo/_2.so and 2 more files: has RUNPATH /opt/lib"
    ]
