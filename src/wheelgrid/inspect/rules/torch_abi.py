"""Rules on the ABI of libtorch: WG404, WG405, WG413, WG414."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from wheelgrid.core.recipe import Abi
from wheelgrid.core.shim import StringAbi
from wheelgrid.inspect.against import compare, torch_names, with_string_abi
from wheelgrid.inspect.findings import Finding, error, shown, unchecked, warning
from wheelgrid.inspect.subject import Subject, Upstream
from wheelgrid.inspect.torch_abi import TorchAbi, TorchAbiKind

__all__ = ["oldest_torch", "stable_or_pinned", "string_abi", "what_torch_has"]

_BOUND = {TorchAbiKind.UNSTABLE, TorchAbiKind.MIXED}
_MOST = 20


def stable_or_pinned(subject: Subject) -> Iterator[Finding]:
    """WG404 for the stable ABI, WG405 for the C++ ABI."""
    expected = subject.expected
    if expected is None:
        yield from _without_plan(subject)
        return
    if expected.abi is Abi.LIBTORCH_STABLE:
        for path, use in subject.torch_uses.items():
            if use.kind in _BOUND:
                text = f"uses {use.cxx} C++ symbols of libtorch: {shown(use.cxx_first)}"
                yield error("WG404", text, path)
    if expected.abi is Abi.LIBTORCH and expected.torch and not _pins(subject, expected.torch):
        line = f"{expected.torch.major}.{expected.torch.minor}"
        yield error("WG405", f"no Requires-Dist limits torch to {line}.*")


def _without_plan(subject: Subject) -> Iterator[Finding]:
    """C++ symbols of libtorch, and no requirement that pins their line; shims mixed with them."""
    bound = {path: use for path, use in subject.torch_uses.items() if use.kind in _BOUND}
    for path, use in bound.items():
        if use.kind is TorchAbiKind.MIXED:
            text = f"mixes {len(use.shims)} shims of the stable ABI with {use.cxx} C++ symbols"
            yield warning(
                "WG404", f"{text} ({shown(use.cxx_first)}): it is of one torch line", path
            )
    lines = subject.label.torch.versions if subject.label.torch else ()
    if not bound or any(_pins(subject, line) for line in (*lines, *subject.torch_bounds())):
        return
    named = subject.label.torch
    label = f"its label names torch {named}" if named else "its label names no torch"
    text = f"uses the C++ ABI of one torch line; {label}, and no Requires-Dist pins one"
    yield error("WG405", text, next(iter(bound)))


def _pins(subject: Subject, torch: Version) -> bool:
    """Whether an unconditional requirement admits this torch line and refuses its neighbours."""
    major, minor = torch.major, torch.minor
    others = ["0.1", f"{major}.{minor + 1}.0", f"{major}.{minor + 1}.9", f"{major + 1}.0.0"]
    if minor:
        others += [f"{major}.{minor - 1}.0", f"{major}.{minor - 1}.99"]
    else:
        others.append(f"{major - 1}.99.9")
    for requirement in subject.torch_requirements:
        if requirement.marker is not None:
            continue
        if torch in requirement.specifier and not any(o in requirement.specifier for o in others):
            return True
    return False


def _too_old(subject: Subject, use: TorchAbi, upstream: Upstream) -> Version | None:
    """An older torch than the shims need, which the requirements let in."""
    if use.oldest is None or use.or_older:
        return None
    candidates = {*upstream.abi.looked_at, *subject.torch_bounds()}
    if subject.expected is not None and subject.expected.torch is not None:
        candidates.add(subject.expected.torch)
    fits = [v for v in sorted(candidates) if v < use.oldest and subject.admits_torch(v)]
    return fits[-1] if fits else None


def oldest_torch(subject: Subject) -> Iterator[Finding]:
    """WG413: the oldest torch that has all shims against what Requires-Dist admits."""
    if subject.upstream is None or not subject.upstream.abi.shims:
        return
    for path, use in subject.torch_uses.items():
        if not use.shims:
            continue
        if use.unknown:
            text = f"uses shims that no torch looked at exports: {shown(use.unknown)}"
            yield unchecked("WG413", text, path)
        yield from _bounds(subject, path, use, subject.upstream)


def _bounds(subject: Subject, path: str, use: TorchAbi, upstream: Upstream) -> Iterator[Finding]:
    old = _too_old(subject, use, upstream)
    needs = f"needs torch {use.oldest} ({shown(use.newest_shims)})"
    if old is not None and subject.torch_requirements:
        asked = ", ".join(map(str, subject.torch_requirements))
        yield error("WG413", f"{needs}; Requires-Dist {asked} admits {old}", path)
    elif old is not None:
        yield warning("WG413", f"{needs}; no Requires-Dist names torch", path)
    gone = use.below
    if gone is not None and subject.torch_requirements and subject.admits_torch(gone):
        text = f"uses shims that torch {gone} no longer has; Requires-Dist admits it"
        yield error("WG413", text, path)


def _declared_releases(subject: Subject, upstream: Upstream) -> list[Version]:
    """Releases whose string ABI is known and that this wheel is declared for."""
    label = subject.label.torch
    known = sorted(upstream.abi.string_abi)
    if label is not None:
        return [v for v in known if label.fits(v)]
    if not any(True for _ in subject.torch_bounds()):
        return []
    return [v for v in known if subject.admits_torch(v)]


def string_abi(subject: Subject) -> Iterator[Finding]:
    """WG414 without a torch at hand: std::string of the files, the label, the declared torch."""
    for path, use in subject.torch_uses.items():
        if use.string_abi is None:
            continue
        said = subject.label.cxx11_abi
        if said is not None and said is not (use.string_abi is StringAbi.NEW):
            text = (
                f"the label says cxx11abi{str(said).upper()}; the file has the {use.string_abi} one"
            )
            yield error("WG414", text, path)
        if subject.upstream is None or subject.upstream.exports is not None:
            continue
        known = subject.upstream.abi.string_abi
        releases = _declared_releases(subject, subject.upstream)
        wrong = [v for v in releases if known[v] is not use.string_abi]
        if wrong and len(wrong) == len(releases):
            other = known[wrong[-1]]
            fitting = shown(map(str, reversed(with_string_abi(use.string_abi, known))))
            yield error(
                "WG414",
                f"the C++11 string ABI differs: wheel {use.string_abi}, torch {wrong[-1]} {other}; "
                f"this is no fault of CUDA. Torch with the {use.string_abi} one: {fitting}",
                path,
            )


def what_torch_has(subject: Subject) -> Iterator[Finding]:
    """WG414 with a torch to compare with: each symbol that it does not export, and why."""
    if subject.upstream is None or subject.upstream.exports is None:
        return
    names = {one.path: torch_names(one.undefined) for one in subject.libraries}
    wanted = frozenset().union(*names.values())
    if not wanted or subject.is_torch:
        return
    exports = subject.upstream.exports(wanted)
    releases = subject.upstream.abi.string_abi
    for library in subject.libraries:
        missing = compare(names[library.path], exports, library.needed)
        for one in missing[:_MOST]:
            use = subject.torch_uses.get(library.path)
            hint = ""
            if one.cause == "string-abi" and use is not None and use.string_abi is not None:
                fitting = shown(map(str, reversed(with_string_abi(use.string_abi, releases))))
                hint = f"; this is no fault of CUDA. Torch with that string: {fitting or 'unknown'}"
            text = f"{one.symbol} is not in {exports.name} ({one.cause}): {one.text}{hint}"
            yield error("WG414", text, library.path)
        if len(missing) > _MOST:
            text = f"{len(missing) - _MOST} more symbols are not in {exports.name}"
            yield error("WG414", text, library.path)
