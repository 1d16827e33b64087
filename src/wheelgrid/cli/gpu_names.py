"""GPUs as people name them: `H200`, `sm_90`, `9.0`, `gfx90a:xnack+`, `bmg`, `20.1.0`, `m3`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.config.yaml import nearest
from wheelgrid.core.accelerator import Family
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.run_rules import Device, capability, features_of
from wheelgrid.inspect.gpu.intel import device_named
from wheelgrid.inspect.order import by_number

__all__ = ["find_device", "known_devices"]

_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9])\Z")
_APPLE = re.compile(r"(?:apple )?m[1-9](?: (?:pro|max|ultra))?\Z|mps\Z|macos\Z")
_MODE = re.compile(r"(?:xnack|sramecc)[+-]\Z")
_APPLE_TARGET = "macOS"


def _products(knowledge: Knowledge) -> dict[tuple[Family, str], list[str]]:
    """Names that are sold, by vendor and target."""
    found: dict[tuple[Family, str], list[str]] = {}
    for family, known in knowledge.accelerators.items():
        for gpu in known.gpus:
            names = found.setdefault((family, gpu.arch), [])
            if gpu.name not in names:
                names.append(gpu.name)
    return found


def _members(knowledge: Knowledge) -> Iterator[tuple[Family, str]]:
    """Targets that run rules name as devices."""
    for rule in knowledge.run_rules:
        names = [name for _, members in rule.members for name in members]
        groups = [name for name, _ in rule.members] if rule.image == "aot-group" else []
        yield from ((Family(rule.family), name) for name in (*names, *groups))


def _targets(knowledge: Knowledge) -> dict[str, Family]:
    """Every target that is known to be a device, of products, toolkits, families and rules."""
    found = {target: family for family, target in _products(knowledge)}
    found |= {target: family for family, target in _members(knowledge)}
    for family, known in knowledge.accelerators.items():
        found |= {t: family for toolkit in known.toolkits for t in toolkit.values}
        found |= {t: family for group in known.families for t in group.values}
    return found


def known_devices(knowledge: Knowledge) -> tuple[Device, ...]:
    """One device for each target of a product in compat/, and Apple's, in the order of targets."""
    products = _products(knowledge)
    found = [
        Device(name=target, family=family, target=target, products=tuple(products[family, target]))
        for family in Family
        for target in by_number(t for f, t in products if f is family)
    ]
    apple = Device(name="mps", family=Family.MPS, target=_APPLE_TARGET, products=("Apple GPUs",))
    return (*found, apple)


def _target(text: str) -> str:
    """The text as vendors write targets: `sm_90` for 9.0 and sm_90a, a name for an IP version."""
    low = text.casefold()
    if match := _DOTTED.match(low):
        return f"sm_{match[1]}{match[2]}"
    if _APPLE.match(low):
        return _APPLE_TARGET
    if (code := capability(low)) is not None:
        return f"sm_{code[0]}{code[1]}"
    return device_named(low)


def _refuse(text: str, names: list[str]) -> BadInputError:
    known = {name.casefold(): name for name in names}
    hint = nearest(text.casefold(), list(known))
    for low, name in known.items():
        hint = hint.replace(repr(low), repr(name))
    message = f"{text!r} is not a GPU or a target that compat/ knows"
    return BadInputError([Fault(file="--gpu", message=message, hint=hint)])


def find_device(text: str, knowledge: Knowledge) -> Device:
    """The device that a text names; BadInputError with the nearest name for another text."""
    products = _products(knowledge)
    for (family, arch), names in products.items():
        if text.casefold() in {name.casefold() for name in names}:
            return Device(name=text, family=family, target=arch, products=tuple(names))
    target, known = _target(text.strip()), _targets(knowledge)
    if target == _APPLE_TARGET:
        return Device(name=text, family=Family.MPS, target=target)
    bare, modes = features_of(target)
    are_modes = all(_MODE.match(mode) for mode in target.split(":")[1:])
    device_family = known.get(bare)
    if device_family is None or not are_modes or (modes and device_family is not Family.ROCM):
        sold = [name for names in products.values() for name in names]
        raise _refuse(text, [*sold, *by_number(known)])
    names = products.get((device_family, bare), [])
    return Device(name=text, family=device_family, target=target, products=tuple(names))
