"""Environment variables of builds whose wrong spelling gives a wheel with a wrong platform tag."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wheelgrid.config.yaml import Item

__all__ = ["check_macos", "check_variable"]

_HOST = "_PYTHON_HOST_PLATFORM"
_TARGET = "MACOSX_DEPLOYMENT_TARGET"
_MACOS = re.compile(r"macosx-([0-9]{2})\.([0-9]{1,2})-(arm64|x86_64|universal2)\Z")
_LOOSE = re.compile(
    r"macosx[-_]([0-9]{1,2})[._]?([0-9]{0,2})[-_](arm64|aarch64|x86_64|universal2)\Z"
)
_OTHER = re.compile(r"(linux|win|freebsd|android|ios)[a-z0-9.]*(-[a-z0-9_.]+)*\Z")
_VERSION = re.compile(r"([0-9]{2})(?:\.([0-9]{1,2}))?\Z")
_ARCHS = {"aarch64": "arm64"}


def check_variable(item: Item, name: str, value: str) -> None:
    """Fault a host platform or a deployment target that build backends misread.

    `macosx-11_0-arm64` is read as macOS 110: `int("11_0")` is a number in Python.
    """
    if name == _HOST and not _MACOS.match(value) and not _OTHER.match(value):
        loose = _LOOSE.match(value)
        arch = _ARCHS.get(loose[3], loose[3]) if loose else ""
        hint = f"write macosx-{loose[1]}.{loose[2] or 0}-{arch}" if loose else ""
        why = "is not a host platform such as macosx-11.0-arm64"
        if loose and "_" in value.split("-", 1)[-1].split("-", maxsplit=1)[0]:
            number = int(f"{loose[1]}{loose[2]}")
            why += f": its version is read as the integer {number}"
        item.fault(f"{value!r} {why}", hint=hint)
    if name == _TARGET and not _VERSION.match(value):
        item.fault(f"{value!r} is not a macOS version", hint="such as 14.0")


def check_macos(item: Item, environment: Mapping[str, str]) -> None:
    """Fault a host platform whose macOS is not the deployment target: the tag follows the first."""
    host = _MACOS.match(environment.get(_HOST, ""))
    target = _VERSION.match(environment.get(_TARGET, ""))
    if host is None or target is None:
        return
    if (int(host[1]), int(host[2])) != (int(target[1]), int(target[2] or 0)):
        item.fault(
            f"{_HOST} says macOS {host[1]}.{host[2]}, {_TARGET} says {target[0]}: the wheel would "
            "promise one and be built for the other",
            hint=f"write macosx-{target[1]}.{target[2] or 0}-{host[3]}",
        )
