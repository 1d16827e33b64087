"""JSON on stdout: the option that asks for it, and how it is printed. Imports nothing heavy."""

from __future__ import annotations

import json
import sys

import click

__all__ = ["json_option", "print_json"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (has a schema).")


def print_json(document: object) -> None:
    """One JSON document on stdout, keys sorted: same input, same bytes. It is never held whole."""
    json.dump(document, sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    click.echo()
