"""What GitHub Actions takes: matrices as one line of JSON, and the file behind GITHUB_OUTPUT."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.planning.shard import Job

__all__ = ["MAX_OUTPUT_BYTES", "JobMatrix", "job_matrix", "read_outputs", "write_outputs"]

MAX_OUTPUT_BYTES = 1_000_000
"""Outputs of one job may have 1 MB together, counted as UTF-16; taken as 10**6 to be sure."""

_PLAIN = re.compile(r"[A-Za-z0-9._+:@,=%/ -]{1,1000}\Z")
_OUTPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMatrix:
    """One matrix as a workflow takes it: `matrix: ${{ fromJSON(...) }}`.

    GitHub fails a job whose matrix is empty, so a workflow must ask `empty` first.
    """

    json: str
    jobs: int

    @property
    def empty(self) -> bool:
        """Whether there is no job: the step must be skipped, not run."""
        return self.jobs == 0

    def outputs(self, name: str = "matrix") -> dict[str, str]:
        """The outputs of a job that plans: the matrix, its number of jobs, whether it is empty."""
        return {
            name: self.json,
            f"{name}_jobs": str(self.jobs),
            f"{name}_empty": "true" if self.empty else "false",
        }


def job_matrix(jobs: Sequence[Job], *, used: int = 0) -> JobMatrix:
    """One line of ASCII JSON. `used` is what other outputs of the same job take, in bytes.

    Values end up in workflows, where `${{` is an expression and quotes end shell text, so only
    letters, digits and a few signs are taken: BadInputError for others, and for too long a line.
    """
    faults = [
        Fault(
            file="matrix.yaml",
            message=f"{value[:80]!r} cannot go into a workflow: only letters, digits and "
            ". _ + : @ , = % / - are safe there",
            hint="ids are percent-encoded; rename the runner label or the axis value",
        )
        for job in jobs
        for value in (job.id, job.name, *job.runs_on, *job.cells)
        if not _PLAIN.match(value)
    ]
    faults += [
        Fault(
            file="matrix.yaml",
            path="runners",
            message=f"{job.name} has no runner label",
            hint="a runner without `when`, at the end, takes what no other runner does",
        )
        for job in jobs
        if not job.runs_on
    ]
    if faults:
        raise BadInputError(faults)
    include = [
        {"id": job.id, "name": job.name, "runs_on": list(job.runs_on), "cells": list(job.cells)}
        for job in jobs
    ]
    text = json.dumps({"include": include}, separators=(",", ":"))
    size = 2 * len(text)
    if size + used > MAX_OUTPUT_BYTES:
        message = (
            f"the matrix takes {size:,} bytes as UTF-16, with other outputs {size + used:,}; a job "
            f"may put out {MAX_OUTPUT_BYTES:,}"
        )
        hint = "split it into more matrices, each planned by a job of its own, or shorten ids"
        raise BadInputError([Fault(file="selection", message=message, hint=hint)])
    return JobMatrix(json=text, jobs=len(jobs))


def _delimiter(value: str) -> str:
    """A line that the value cannot hold: its own digest. So the same value gives the same text."""
    return f"end_{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def write_outputs(values: Mapping[str, str]) -> str:
    """Text to append to the file that GITHUB_OUTPUT names.

    ValueError for a bad name, and for a carriage return: runners on Windows and elsewhere read it
    differently.
    """
    found = []
    for name, value in values.items():
        if not _OUTPUT_NAME.match(name):
            msg = f"{name!r} is not the name of an output"
            raise ValueError(msg)
        if "\r" in value:
            msg = f"the output {name} holds a carriage return"
            raise ValueError(msg)
        if "\n" in value:
            end = _delimiter(value)
            found.append(f"{name}<<{end}\n{value}\n{end}\n")
        else:
            found.append(f"{name}={value}\n")
    return "".join(found)


def read_outputs(text: str) -> dict[str, str]:
    """Read such a file as the runner does (actions/runner, FileCommandManager.cs: LF ends a line).

    ValueError for a line that is neither `name=value` nor the start of a block: a stray log line
    fails the step there too.
    """
    found: dict[str, str] = {}
    lines = iter(text.removesuffix("\n").split("\n"))
    for line in lines:
        if not line:
            continue
        equal, block = line.find("="), line.find("<<")
        if equal >= 0 and (block < 0 or equal < block):
            name, value = line[:equal], line[equal + 1 :]
        elif block >= 0:
            name, value = line[:block], _block(lines, line[block + 2 :])
        else:
            msg = f"invalid format: {line[:80]!r}"
            raise ValueError(msg)
        if not name:
            msg = f"an output without a name: {line[:80]!r}"
            raise ValueError(msg)
        found[name] = value
    return found


def _block(lines: Iterator[str], delimiter: str) -> str:
    """The lines up to the delimiter."""
    if not delimiter:
        raise ValueError("a block without a delimiter")
    found: list[str] = []
    for line in lines:
        if line == delimiter:
            return "\n".join(found)
        found.append(line)
    msg = f"matching delimiter not found: {delimiter[:80]!r}"
    raise ValueError(msg)
