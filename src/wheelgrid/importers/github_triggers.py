"""Filters of a workflow's triggers that the event does not have, so GitHub ignores them.

Source: "Events that trigger workflows" and "Workflow syntax" of the GitHub documentation.
"""

from __future__ import annotations

import difflib

from wheelgrid.config.foreign import ForeignNode, Kind
from wheelgrid.importers.report import Finding, Level, Place

__all__ = ["trigger_findings"]

_BRANCHES = ("branches", "branches-ignore")
_PATHS = ("paths", "paths-ignore")
_FILTERS: dict[str, tuple[str, ...]] = {
    "push": (*_BRANCHES, "tags", "tags-ignore", *_PATHS),
    "pull_request": ("types", *_BRANCHES, *_PATHS),
    "pull_request_target": ("types", *_BRANCHES, *_PATHS),
    "workflow_run": ("types", "workflows", *_BRANCHES),
    "merge_group": ("types", *_BRANCHES),
    "workflow_dispatch": ("inputs",),
    "workflow_call": ("inputs", "outputs", "secrets"),
    **dict.fromkeys(
        (
            "branch_protection_rule", "check_run", "check_suite", "discussion",
            "discussion_comment", "image_version", "issue_comment", "issues", "label",
            "milestone", "project", "project_card", "project_column", "pull_request_review",
            "pull_request_review_comment", "registry_package", "release", "repository_dispatch",
            "watch",
        ),
        ("types",),
    ),
    **dict.fromkeys(
        (
            "create", "delete", "deployment", "deployment_status", "fork", "gollum",
            "page_build", "public", "status",
        ),
        (),
    ),
}  # fmt: skip
_INSTEAD = {"tags", "tags-ignore", *_BRANCHES}


def _ignored(event: str, key: ForeignNode, file: str) -> Finding:
    known = _FILTERS[event]
    hint = f"{event} takes: {', '.join(known)}" if known else f"{event} takes no filter"
    if key.text in _INSTEAD and event in {"create", "delete", "release"}:
        hint += f"; use push: {{{key.text}: [...]}}"
    return Finding(
        level=Level.WARNING,
        code="ignored-trigger-filter",
        message=f"the event {event!r} has no filter {key.text!r}: GitHub ignores it, "
        "and the workflow runs for every such event",
        place=Place(file=file, line=key.line, column=key.column),
        hint=hint,
    )


def _unknown(key: ForeignNode, file: str) -> Finding:
    close = difflib.get_close_matches(key.text, [*_FILTERS, "schedule"], n=1, cutoff=0.6)
    return Finding(
        level=Level.WARNING,
        code="unknown-trigger",
        message=f"no event {key.text[:60]!r} is known: the workflow may never start",
        place=Place(file=file, line=key.line, column=key.column),
        hint=f"did you mean {close[0]!r}?" if close else "",
    )


def trigger_findings(workflow: ForeignNode, file: str) -> list[Finding]:
    """What the `on` of a workflow says that has no effect."""
    on = workflow.get("on") or workflow.get("true")
    if on is None:
        return []
    if on.kind is Kind.SCALAR:
        names = [on]
    elif on.kind is Kind.LIST:
        names = [item for item in on.items if item.kind is Kind.SCALAR]
    else:
        names = [key for key, _ in on.pairs]
    found = [_unknown(n, file) for n in names if n.text not in {*_FILTERS, "schedule"}]
    for event, value in on.pairs:
        if event.text in _FILTERS:
            found += [
                _ignored(event.text, key, file)
                for key, _ in value.pairs
                if key.text not in _FILTERS[event.text]
            ]
    return found
