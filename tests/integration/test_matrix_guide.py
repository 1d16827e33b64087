"""Every example of the field guide is run, and has the number of cells that it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wheelgrid.cli.main import run

pytestmark = pytest.mark.integration

GUIDE = Path(__file__).parents[2] / "docs" / "explanation" / "matrix-language.md"
BLOCKS = re.findall(r"```yaml\n# (.*?)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
EXAMPLES = {t.split("\n")[1].removeprefix("name: "): (h, t) for h, t in BLOCKS if "schema:" in t}
SHARED = {head: text for head, text in BLOCKS if "schema:" not in text}


def counts(head: str) -> dict[str, int]:
    """`4 cells, nightly: 9 cells` by channel; the first is the default."""
    found = re.findall(r"(?:([a-z]+): )?([0-9]+) cells", head)
    return {channel: int(count) for channel, count in found}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_cells(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, text = EXAMPLES[name]
    for path, shared in SHARED.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(shared, encoding="utf-8")
    (tmp_path / "matrix.yaml").write_text(text, encoding="utf-8")
    assert counts(head)
    for channel, count in counts(head).items():
        given = ["--channel", channel] if channel else []
        status = run(["--root", str(tmp_path), "plan", "--cells", *given])
        shown = capsys.readouterr()
        assert status == 0, shown.err
        assert len([json.loads(line) for line in shown.out.splitlines()]) == count


def test_every_yaml_block_is_an_example_or_a_shared_file() -> None:
    assert GUIDE.read_text(encoding="utf-8").count("```yaml") == len(BLOCKS)
    assert len(EXAMPLES) + len(SHARED) == len(BLOCKS)
    assert list(SHARED) == ["shared/pythons.yaml"]
