"""Keeps what an audit refutes: a wheel that claims a stable ABI and does not keep to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from wheelgrid.config.files import Project
from wheelgrid.config.proofs import proof_file
from wheelgrid.core.build import Build
from wheelgrid.core.recipe import Abi, Proof, Unproven
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.inspect.audit import Audit
from wheelgrid.inspect.findings import Level

__all__ = ["keep_refuted", "refuted"]

_PROOF_OF = {
    "WG203": Proof.PYTHON_STABLE_ABI,
    "WG205": Proof.PYTHON_STABLE_ABI,
    "WG404": Proof.TORCH_STABLE_ABI,
}


def refuted(build: Build, found: Audit, sha256: str) -> Iterator[Unproven]:
    """The claims of a build that findings of its audit disprove, each once."""
    claimed = {Proof.PYTHON_STABLE_ABI} if build.limited else set()
    if build.abi is Abi.LIBTORCH_STABLE:
        claimed.add(Proof.TORCH_STABLE_ABI)
    for finding in found.findings:
        proof = _PROOF_OF.get(finding.rule)
        if proof not in claimed or finding.level is not Level.ERROR:
            continue
        claimed.discard(proof)
        for accelerator in sorted({str(cell.accelerator) for cell in build.cells}):
            yield Unproven(
                package=build.package,
                version=str(build.version),
                accelerator=accelerator,
                proof=proof,
                rule=finding.rule,
                why=f"{finding.member}: {finding.message}" if finding.member else finding.message,
                wheel_sha256=sha256,
            )


def keep_refuted(project: Project, build: Build, found: Audit, sha256: str) -> None:
    """Write each refuted claim; the next plan gives its cells builds that claim less."""
    for one in refuted(build, found, sha256):
        text = json.dumps(asdict(one), indent=1, sort_keys=True)
        path = proof_file(project, one)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode() + b"\n")
