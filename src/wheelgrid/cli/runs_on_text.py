"""How `wheelgrid runs-on` reads in a terminal. Names in a wheel are hostile: they are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wheelgrid.inspect.run_fit import Need
from wheelgrid.inspect.run_verdict import STATE_ORDER, RunState, Verdict
from wheelgrid.inspect.wheel_verdict import WheelVerdict

__all__ = ["gpu_lines", "matrix_lines"]

_MOST_KERNELS = 20
_MOST_COLUMNS = 8
_SHORT = {RunState.NOT_APPLICABLE: "-"}


def _plain(text: str) -> str:
    """Printable text on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _line(name: str, text: str) -> str:
    return f"  {name:<8} {_plain(text)}"


def _need_line(need: Need) -> str:
    source = need.source
    said = f" [{source.kind}, {source.date}: {source.source}]" if source else ""
    return _line("needs", f"{need}{said}")


def _kernel_lines(verdict: Verdict, most: int | None) -> Iterator[str]:
    """Kernels without an image; those of which another unit has one are said to be such."""
    lacking = verdict.lacking
    rows = [*lacking.kernels, *(f"{name} (another unit has one)" for name in lacking.elsewhere)]
    shown = rows if most is None else rows[:most]
    yield from (f"             lacks {_plain(name)}" for name in shown)
    if len(shown) < len(rows):
        yield f"             and {len(rows) - len(shown)} more (--kernels lists them)"
    if lacking.unlisted:
        yield f"             kernels of {lacking.unlisted} units were not listed"


def _library_lines(verdicts: Iterable[Verdict], most: int | None) -> Iterator[str]:
    """One line for a library, the best first; then what it lacks."""
    ordered = sorted(verdicts, key=lambda v: (-STATE_ORDER.index(v.state), v.path))
    for verdict in ordered:
        yield _line(verdict.state, f"{verdict.path}: {verdict.reason}")
        if verdict.state is RunState.PARTIAL:
            yield from _kernel_lines(verdict, most)
        yield from (f"             {_plain(str(need))}" for need in verdict.needs)
        yield from (f"             note: {_plain(text)}" for text in verdict.warnings)


def _rule_lines(verdicts: Iterable[Verdict]) -> Iterator[str]:
    rules = {row.rule.id: row.rule for v in verdicts for row in v.applied if row.rule}
    for name, rule in sorted(rules.items()):
        source = rule.source
        yield _line("rule", f"{name}: {rule.text}")
        yield f"             {source.kind}, {source.date}: {source.source}"


def gpu_lines(wheel: str, found: WheelVerdict, *, kernels: bool) -> list[str]:
    """A wheel on one GPU: the state, why, and every library with code for it."""
    device = found.device
    products = ", ".join(p for p in device.products if p.casefold() != device.name.casefold())
    aliases = "; ".join(t for t in (device.target, products) if t and t != device.name)
    name = f"{device.name} ({aliases})" if aliases else device.name
    judged = [v for v in found.libraries if v.state is not RunState.NOT_APPLICABLE]
    lines = [f"{_plain(wheel)} on {name}: {found.state}", _line("why", found.reason)]
    lines += [_need_line(need) for need in found.needs]
    lines += _library_lines(judged, None if kernels else _MOST_KERNELS)
    if rest := len(found.libraries) - len(judged):
        lines.append(_line("-", f"{rest} files without device code for {device.family}"))
    if tools := sorted({tool for v in found.libraries for tool in v.jit_sources}):
        lines.append(
            _line("jit", f"{', '.join(tools)} may make more code when it runs: not judged")
        )
    return [*lines, *_rule_lines(judged)]


def _columns(found: Sequence[WheelVerdict]) -> list[str]:
    """Libraries with device code, if they are few; none otherwise."""
    judged = {
        v.path: None for w in found for v in w.libraries if v.state is not RunState.NOT_APPLICABLE
    }
    return list(judged) if len(judged) <= _MOST_COLUMNS else []


def matrix_lines(wheel: str, found: Sequence[WheelVerdict]) -> list[str]:
    """A wheel on many GPUs: a row for each, a column for each library where they are few."""
    columns = _columns(found)
    head = ["target", "wheel", *(f"[{n}]" for n, _ in enumerate(columns, 1)), "products"]
    rows = [head]
    for one in found:
        states = {v.path: _SHORT.get(v.state, str(v.state)) for v in one.libraries}
        cells = [_SHORT.get(one.state, str(one.state)), *(states[path] for path in columns)]
        rows.append([one.device.target, *cells, ", ".join(one.device.products)])
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    lines = [_plain(wheel), *(f"  [{n}] {_plain(path)}" for n, path in enumerate(columns, 1))]
    lines += [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return lines
