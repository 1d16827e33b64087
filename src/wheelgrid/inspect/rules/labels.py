"""Rules on the local label against what is inside and required: WG410, WG411, WG416."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from wheelgrid.core.accelerator import Family
from wheelgrid.inspect.device import code_families
from wheelgrid.inspect.findings import Finding, error, shown, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.runtimes import runtimes
from wheelgrid.inspect.subject import Subject
from wheelgrid.inspect.torch_abi import TorchAbiKind

__all__ = ["label", "limits_torch", "sycl_of_torch"]

_RUNTIME = {"cuda": Family.CUDA, "rocm": Family.ROCM, "sycl": Family.XPU}
_SHOWN = {Family.CUDA: "CUDA", Family.ROCM: "ROCm", Family.XPU: "SYCL", Family.MPS: "Metal"}


def _majors(subject: Subject) -> set[str]:
    """The toolkit majors that the label can mean; empty where it names none."""
    toolkit = subject.label.toolkit
    return {str(version.major) for version in toolkit.versions} if toolkit else set()


def _of_label(subject: Subject, library: Library) -> Iterator[str]:
    """What a file has that its label does not say."""
    family, majors = subject.label.family, _majors(subject)
    for vendor, version in runtimes(library).items():
        other = _RUNTIME[vendor]
        another_major = bool(majors) and version.isdigit() and version not in majors
        if other is not family or another_major:
            yield f"needs the runtime of {_SHOWN[other]} {version}"
    for other in sorted(code_families(library)):
        if other is not family:
            yield f"holds code for {_SHOWN[other]}"


def label(subject: Subject) -> Iterator[Finding]:
    """WG410: accelerator, toolkit major and torch of the label against files and requirements."""
    family = subject.label.family
    if family is not None and not subject.policy.accelerators - {family}:
        for library in subject.wheel.libraries:
            problems = list(_of_label(subject, library))
            if problems:
                text = f"{' and '.join(problems)}; the label says {subject.label.text}"
                yield error("WG410", text, library.path)
    torch = subject.label.torch
    if torch is None or not subject.torch_requirements:
        return
    candidates = [Version(f"{v}.{patch}") for v in torch.versions for patch in (0, 1, 99)]
    candidates += list(torch.versions)
    if not any(subject.admits_torch(version) for version in candidates):
        asked = ", ".join(map(str, subject.torch_requirements))
        yield error("WG410", f"the label names torch {torch}; Requires-Dist {asked} refuses it")


def limits_torch(subject: Subject) -> Iterator[Finding]:
    """WG411: without a bound, an installer takes the newest torch, of another toolkit maybe.

    Wheels of the C++ ABI are the business of WG405.
    """
    family = subject.label.family
    if family is None or not family.has_version or not subject.torch_requirements:
        return
    kinds = {use.kind for use in subject.torch_uses.values()}
    if kinds & {TorchAbiKind.UNSTABLE, TorchAbiKind.MIXED} or not subject.libraries:
        return
    if not any(clause for r in subject.torch_requirements for clause in r.specifier):
        asked = ", ".join(map(str, subject.torch_requirements))
        text = f"the label says {subject.label.text}; Requires-Dist {asked} takes any torch, "
        yield error("WG411", f"{text}and the default index has it for another {_SHOWN[family]}")


def _lines(subject: Subject) -> dict[str, frozenset[str]]:
    """The torch lines that the wheel is declared for, with the years of oneAPI of each."""
    known = subject.upstream.oneapi if subject.upstream else {}
    named = subject.label.torch
    if named is not None:
        return {line: years for line, years in known.items() if named.fits(Version(line))}
    if not subject.torch_requirements:
        return {}
    patches = ("", ".0", ".1", ".99")
    return {
        line: years
        for line, years in known.items()
        if any(subject.admits_torch(Version(line + patch)) for patch in patches)
    }


def sycl_of_torch(subject: Subject) -> Iterator[Finding]:
    """WG416: libsycl.so.8 is oneAPI 2025, .9 is 2026; torch brings that of its own oneAPI."""
    needs: dict[str, str] = {}
    for library in subject.libraries:
        year = runtimes(library).get("sycl")
        if year and year.isdigit():
            needs.setdefault(year, library.path)
    if not needs:
        return
    expected = subject.expected
    lines = _lines(subject)
    if expected and expected.accelerator.family is Family.XPU and expected.accelerator.version:
        line = f"{expected.torch.major}.{expected.torch.minor}" if expected.torch else "of the plan"
        lines = {line: frozenset({str(expected.accelerator.version.major)})}
    wrong = [line for line, years in lines.items() if not years & needs.keys()]
    if not wrong:
        return
    has = " and ".join(f"oneAPI {year} ({path})" for year, path in sorted(needs.items()))
    brings = shown(f"torch {line} brings {', '.join(sorted(lines[line]))}" for line in wrong)
    make = error if len(wrong) == len(lines) else warning
    yield make("WG416", f"needs the SYCL runtime of {has}; {brings}")
