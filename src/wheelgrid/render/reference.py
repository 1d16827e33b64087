"""Reference pages made from the code: commands, exit codes, audit rules."""

from __future__ import annotations

import re

import click

from wheelgrid.core.errors import ExitCode
from wheelgrid.inspect.findings import RULES
from wheelgrid.lint.document import rules_page
from wheelgrid.lint.registry import all_rules
from wheelgrid.render.matrix_schema import matrix_page

__all__ = ["BANNER", "reference_pages"]

BANNER = "<!-- Rendered by `wheelgrid render`. Do not edit: change the code, then render. -->\n\n"

_MEANING = {
    ExitCode.GOOD: "Nothing wrong was found.",
    ExitCode.FAILURES: "The work ran and found failures.",
    ExitCode.USAGE: "The command line or a file that it reads is wrong.",
    ExitCode.COULD_NOT_CHECK: "The tool could not look (no network, interpreter or compiler).",
    ExitCode.DEFECT: "wheelgrid itself is wrong; a traceback is shown. Please report it.",
    ExitCode.INTERRUPTED: "Stopped by Ctrl-C or SIGTERM.",
}


def _exit_codes() -> str:
    rows = [f"| {int(code)} | {code.name} | {_MEANING[code]} |" for code in ExitCode]
    return "# Exit codes\n\n| code | name | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _audit_rules() -> str:
    rows = [f"| {rule} | {why} | {fix} |" for rule, (why, fix) in sorted(RULES.items())]
    head = "# Audit rules\n\nEach rule can fail. Each finding names the member of the wheel.\n\n"
    return (
        head + "| rule | what must hold | how to fix it |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _commands(group: click.Group) -> str:
    parts = ["# Commands\n"]
    context = click.Context(group, info_name="wheelgrid", **group.context_settings)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        with click.Context(command, context, info_name=name, max_content_width=90) as own:
            text = command.get_help(own)
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return re.sub(r"[ \t]+\n", "\n", "\n".join(parts))


_MATRIX_PREFACE = """\
The desired state. People write it; every command reads and checks it. A project is a folder with a
`matrix.yaml`; commands look for the nearest one at or above the working directory, or take
`--root DIR|FILE`.

Unknown keys, duplicate keys, YAML aliases, numbers where text is meant and values of the wrong type
are faults, with line and column; all faults of the matrix, the recipes and `compat/` are reported
together. What the keys mean, with examples:
[The matrix language](../explanation/matrix-language.md). For editors there is a JSON Schema:
`src/wheelgrid/schemas/matrix.schema.json`."""


def reference_pages(group: click.Group) -> dict[str, str]:
    """Page name to text, each with the banner that names its origin."""
    return {
        "exit-codes.md": BANNER + _exit_codes(),
        "audit-rules.md": BANNER + _audit_rules(),
        "lint-rules.md": BANNER + rules_page(all_rules()),
        "matrix.md": BANNER + matrix_page(_MATRIX_PREFACE),
        "commands.md": BANNER + _commands(group),
    }
