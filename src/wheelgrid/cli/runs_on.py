"""`wheelgrid runs-on`: whether the device code of a wheel runs on a GPU, by kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from packaging.version import InvalidVersion, Version

from wheelgrid.cli.context import open_project
from wheelgrid.cli.gpu_names import find_device, known_devices
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.runs_on_text import gpu_lines, matrix_lines
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.yaml import Faults
from wheelgrid.core.accelerator import Family
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.run_rules import Device
from wheelgrid.inspect.run_document import rules_document, verdict_document
from wheelgrid.inspect.run_fit import Terms
from wheelgrid.inspect.run_verdict import RunState
from wheelgrid.inspect.wheel_verdict import WheelVerdict, judge_wheel

__all__ = ["SCHEMA_VERSION", "command"]

SCHEMA_VERSION = 1
_GOOD = frozenset({RunState.FULL, RunState.JIT})


def _version(ctx: click.Context, param: click.Parameter, value: str | None) -> Version | None:
    del ctx, param
    try:
        return Version(value.lower().removeprefix("r")) if value is not None else None
    except InvalidVersion:
        msg = f"{value!r} is not a version such as 580 or 580.65.06"
        raise click.BadParameter(msg) from None


def _knowledge(root: Path | None) -> Knowledge:
    faults = Faults()
    knowledge = load_knowledge(open_project(root), faults, features=True)
    faults.check()
    return knowledge


def _devices(asked: Iterable[str], knowledge: Knowledge) -> tuple[Device, ...]:
    """The devices that were named; all faults at once."""
    found: list[Device] = []
    faults: list[Fault] = []
    for text in asked:
        try:
            found.append(find_device(text, knowledge))
        except BadInputError as error:
            faults += error.faults
    if faults:
        raise BadInputError(faults)
    return tuple(found)


def _judge(wheel: Path, devices: Iterable[Device], terms: Terms) -> list[WheelVerdict]:
    from wheelgrid.inspect.wheel_code import device_code

    if not wheel.exists():
        raise BadInputError([Fault(file=str(wheel), message="no such file or folder")])
    codes = device_code(wheel)
    return [judge_wheel(codes, device, terms) for device in devices]


def _exit_code(found: Iterable[WheelVerdict], *, survey: bool) -> int:
    """What was asked for decides; a survey of all GPUs fails only where it could not look."""
    states = {verdict.state for verdict in found}
    if not survey and states - _GOOD - {RunState.UNKNOWN}:
        return int(ExitCode.FAILURES)
    return int(ExitCode.COULD_NOT_CHECK if RunState.UNKNOWN in states else ExitCode.GOOD)


@click.command(name="runs-on", short_help="Whether a wheel's device code runs on a GPU.")
@click.argument("wheels", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="H200, sm_90, gfx942, bmg, m3.")
@click.option("--all", "every", is_flag=True, help="Every GPU in compat/; the default.")
@click.option("--driver", callback=_version, metavar="VERSION", help="Driver for NVIDIA GPUs.")
@click.option("--macos", callback=_version, metavar="VERSION", help="macOS of the machine.")
@click.option("--kernels", is_flag=True, help="List every kernel without an image.")
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    wheels: tuple[Path, ...],
    gpus: tuple[str, ...],
    every: bool,
    driver: Version | None,
    macos: Version | None,
    kernels: bool,
    as_json: bool,
) -> int:
    """Judge each library of a wheel, an installed tree or one native file by kernel: FULL, JIT,
    PARTIAL, NONE or UNKNOWN on each GPU.

    Exit 0 where every GPU asked for is FULL or JIT, 1 where one is not, 3 where it could not be
    told. Without --gpu all GPUs are shown and nothing fails.
    """
    knowledge = _knowledge(root)
    survey = every or not gpus
    devices = known_devices(knowledge) if survey else _devices(gpus, knowledge)
    cuda = knowledge.accelerators.get(Family.CUDA)
    drivers = cuda.drivers if cuda else ()
    terms = Terms(rules=knowledge.run_rules, drivers=drivers, driver=driver, macos=macos)
    judged = {wheel: _judge(wheel, devices, terms) for wheel in dict.fromkeys(wheels)}
    found = [verdict for verdicts in judged.values() for verdict in verdicts]
    if as_json:
        documents = [
            {"wheel": wheel.name, "gpus": [verdict_document(verdict) for verdict in verdicts]}
            for wheel, verdicts in judged.items()
        ]
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "driver": str(driver) if driver else None,
                "macos": str(macos) if macos else None,
                "rules": rules_document(found),
                "wheels": documents,
            }
        )
    for wheel, verdicts in () if as_json else judged.items():
        lines = matrix_lines(wheel.name, verdicts) if survey else []
        for verdict in () if survey else verdicts:
            lines += gpu_lines(wheel.name, verdict, kernels=kernels)
        click.echo("\n".join(lines))
    return _exit_code(found, survey=survey)
