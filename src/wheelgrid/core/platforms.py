"""Platforms of the matrix: operating system and architecture, `linux_x86_64`."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Platform"]


class Platform(StrEnum):
    """Where a cell runs. The glibc or macOS floor belongs to a wheel, not to a cell."""

    LINUX_X86_64 = "linux_x86_64"
    LINUX_AARCH64 = "linux_aarch64"
    WIN_AMD64 = "win_amd64"
    MACOSX_ARM64 = "macosx_arm64"
    WIN_ARM64 = "win_arm64"
    MUSLLINUX_X86_64 = "musllinux_x86_64"

    @classmethod
    def of_host(cls, system: str, machine: str) -> Platform | None:
        """The platform of a machine from `platform.system()` and `.machine()`, if known."""
        known = {
            ("Linux", "x86_64"): cls.LINUX_X86_64,
            ("Linux", "aarch64"): cls.LINUX_AARCH64,
            ("Windows", "AMD64"): cls.WIN_AMD64,
            ("Windows", "ARM64"): cls.WIN_ARM64,
            ("Darwin", "arm64"): cls.MACOSX_ARM64,
        }
        return known.get((system, machine))

    @property
    def is_linux(self) -> bool:
        """Whether wheels for it are ELF and carry manylinux tags."""
        return self.value.startswith("linux_")

    def matches_wheel_platform(self, tag: str) -> bool:
        """Whether a wheel's platform tag can be installed on this platform."""
        if tag == "any":
            return True
        system, _, machine = self.value.partition("_")
        if system == "linux":
            return tag.endswith(machine) and tag.startswith(("linux_", "manylinux"))
        if system == "musllinux":
            return tag.endswith(machine) and tag.startswith("musllinux")
        if system == "macosx":
            return tag.startswith("macosx_") and tag.endswith(("_" + machine, "_universal2"))
        return tag == self.value
