"""The declared matrix: axes, what restricts them, tiers and toolchains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.axis import IMPLICIT_ROLES, Axis, AxisValue, Place, Role
from wheelgrid.core.cell import AXES
from wheelgrid.core.condition import Condition
from wheelgrid.core.grid import (
    Derived,
    Entry,
    Exclusion,
    Otherwise,
    Policy,
    Removal,
    Rule,
    Table,
)
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.rung import Rung
from wheelgrid.core.runner import Runner

__all__ = ["Matrix", "TierEntry", "Toolchain", "stack_axes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TierEntry:
    """Cells of some packages that a tier takes up to a rung; `why` explains an early stop."""

    packages: tuple[str, ...]
    when: Condition
    until: Rung
    why: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A compiler that installs as packages, and the GPU archs that builds with it target.

    `manylinux` is the platform tag that wheels are meant to carry, empty where none is asked for.
    """

    accelerator: Accelerator
    requires: tuple[str, ...]
    archs: tuple[str, ...]
    manylinux: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One matrix.yaml, decoded. Axes and values keep the order in which they are written.

    `row_roles` are those of the keys that only whole rows bring. `elsewhere` holds the axes, zips
    and rows of the other channels.
    """

    name: str
    title: str
    axes: tuple[Axis, ...]
    packages: tuple[str, ...] = ()
    zips: tuple[tuple[str, ...], ...] = ()
    groups: Mapping[str, Condition] = field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()
    tables: tuple[Table, ...] = ()
    rules: tuple[Rule, ...] = ()
    rules_otherwise: Otherwise = Otherwise.KEEP
    include: tuple[Entry, ...] = ()
    add: tuple[Entry, ...] = ()
    derived: tuple[Derived, ...] = ()
    removed: tuple[Removal, ...] = ()
    tiers: Mapping[str, tuple[TierEntry, ...]] = field(default_factory=dict)
    toolchains: Mapping[Accelerator, Toolchain] = field(default_factory=dict)
    runners: tuple[Runner, ...] = ()
    policy: Policy = field(default_factory=Policy)
    row_roles: Mapping[str, Role] = field(default_factory=dict)
    channel: str = ""
    channels: tuple[str, ...] = ()
    elsewhere: tuple[Matrix, ...] = field(default=(), compare=False)
    place: Place = field(default=Place(), compare=False)

    @property
    def is_stack(self) -> bool:
        """Whether its points are cells: it has the four axes of a PyTorch stack, in their roles."""
        return set(AXES) <= {a.name for a in self.axes if a.role is IMPLICIT_ROLES.get(a.name)}

    def axis(self, name: str) -> Axis:
        """One axis; KeyError for a name that is none."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(name)

    def axis_values(self, name: str) -> tuple[str, ...]:
        """The values of one axis as text; empty for a name that is none."""
        return next((axis.texts for axis in self.axes if axis.name == name), ())

    def of_role(self, role: Role) -> Axis | None:
        """The axis that has a role, if there is one."""
        return next((axis for axis in self.axes if axis.role is role), None)

    @property
    def torch(self) -> tuple[Version, ...]:
        """The torch versions of a stack."""
        return tuple(map(Version, self.axis_values("torch")))

    @property
    def python(self) -> tuple[PythonVersion, ...]:
        """The Pythons of a stack."""
        return tuple(map(PythonVersion.parse, self.axis_values("python")))

    @property
    def accelerator(self) -> tuple[Accelerator, ...]:
        """The accelerators of a stack."""
        return tuple(map(Accelerator.parse, self.axis_values("accelerator")))

    @property
    def platform(self) -> tuple[Platform, ...]:
        """The platforms of a stack."""
        return tuple(map(Platform, self.axis_values("platform")))


def stack_axes(**values: Iterable[object]) -> tuple[Axis, ...]:
    """Axes from typed or text values, by name: `stack_axes(torch=[...], python=[...])`."""
    return tuple(
        Axis(
            name=name,
            values=tuple(AxisValue(str(value)) for value in given),
            role=IMPLICIT_ROLES.get(name, Role.TEXT),
        )
        for name, given in values.items()
    )
