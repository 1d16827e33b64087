"""Laws of names, labels and the simulated choice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.build import local_label
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.label_order import label_faults
from wheelgrid.core.labels import parse_label
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi
from wheelgrid.core.targets import Target
from wheelgrid.core.wheelname import read_name
from wheelgrid.planning.installer import choose

toolkits = {
    Family.CUDA: [f"cuda{v}" for v in ("11.8", "12.4", "12.6", "12.9", "13.0", "13.5", "14.1")],
    Family.ROCM: [f"rocm{v}" for v in ("7.0", "7.2", "7.10", "7.14", "8.0", "9.1")],
}
torches = st.sampled_from(["2.0.0", "2.9.1", "2.10.0", "2.14.1", "3.0.0", "3.12.0"]).map(Version)
labels = st.sampled_from(
    [
        "",
        "+cu130",
        "+cu130torch2.14",
        "+CU130",
        "+cpu",
        "+rocm7.14.torch2.9",
        "+a+b",
        "+x_1",
        "+xpu",
    ]
)
parts = st.text(alphabet="abcdefpy0123456789._+-tCU", max_size=12)
names = st.one_of(
    st.lists(parts, min_size=1, max_size=8).map(lambda p: "-".join(p) + ".whl"),
    st.builds(
        lambda version, label, middle, python, abi, platform: (
            f"x-{version}{label}{middle}-{python}-{abi}-{platform}.whl"
        ),
        st.sampled_from(["1.0", "01.0", "1.0rc1", "1.0_rc_1", "nightly", "2"]),
        labels,
        st.sampled_from(["", "-1", "-cu130"]),
        st.sampled_from(["cp312", "cp315", "py3", "cp314t"]),
        st.sampled_from(["cp312", "abi3", "abi3.abi3t", "none", "cp314t"]),
        st.sampled_from(["any", "linux_x86_64", "win_amd64", "macosx_14_0_arm64", "linux_amd64"]),
    ),
)


@st.composite
def family_labels(draw: st.DrawFn) -> tuple[tuple[Version, Version], str]:
    family = draw(st.sampled_from(list(toolkits)))
    accelerator = Accelerator.parse(draw(st.sampled_from(toolkits[family])))
    torch = draw(torches)
    assert accelerator.version is not None
    return (accelerator.version, torch), f"{family} " + local_label(
        Abi.LIBTORCH, accelerator, torch
    )


@given(family_labels(), family_labels())
def test_our_labels_sort_by_toolkit_and_then_torch_within_a_family(
    one: tuple[tuple[Version, Version], str], other: tuple[tuple[Version, Version], str]
) -> None:
    family, label = one[1].split()
    other_family, other_label = other[1].split()
    if family != other_family:
        return
    mine, theirs = Version(f"1.0+{label}"), Version(f"1.0+{other_label}")
    lines = [(t, (x.major, x.minor)) for t, x in (one[0], other[0])]
    assert (mine < theirs) == (lines[0] < lines[1])
    assert not label_faults([mine, theirs])


@given(family_labels())
def test_our_labels_are_read_back(made: tuple[tuple[Version, Version], str]) -> None:
    (toolkit, torch), text = made
    family, written = text.split()
    label = parse_label(Version(f"1.0+{written}").local)
    assert label.family == family
    assert label.toolkit is not None
    assert label.toolkit.versions == (toolkit,)
    assert label.torch is not None
    assert label.torch.versions == (Version(f"{torch.major}.{torch.minor}"),)
    assert not label.rest
    name = f"x-1.0+{written}-cp312-cp312-linux_x86_64.whl"
    assert read_name(name).publishable


def test_where_our_labels_cannot_sort_each_toolkit_has_its_own_folder() -> None:
    """rocm10 is text and sorts below rocm7: no label of PyTorch's kind can mend it."""
    old, new = (Version(f"1.0+rocm{v}") for v in ("7.14", "10.0"))
    assert new < old
    assert label_faults([old, new])[0].newer == new


@given(names)
def test_every_name_gets_a_verdict_that_agrees_with_packaging(name: str) -> None:
    found = read_name(name)
    try:
        project, version, build, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return
    if found.readable:
        assert (found.project, found.version, found.tags) == (project, version, tags)
        assert (found.build or ()) == build
        assert not found.publishable or str(version) == name.split("-")[1]


@given(names)
def test_what_we_read_packaging_reads_too(name: str) -> None:
    found = read_name(name)
    if found.readable and found.publishable:
        parse_wheel_filename(name)
    better = found.suggestion
    assert not better or read_name(better).readable


@given(st.text(max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    found = read_name(text)
    assert found.publishable or found.faults
    parse_label(text)


files = st.lists(
    st.builds(
        lambda name, python, yanked: ListedFile(
            name=read_name(name), requires_python=python, yanked=yanked, knows_python=True
        ),
        names,
        st.sampled_from(["", ">=3.9", ">=3.14", "<3.11", "banana"]),
        st.sampled_from([None, None, None, "", "broken"]),
    ),
    max_size=12,
)
targets = st.builds(
    Target,
    python=st.sampled_from(["3.10", "3.12", "3.14t", "3.15t"]).map(PythonVersion.parse),
    platform=st.sampled_from(list(Platform)),
)
requirements = st.sampled_from(["x", "x==1.0", "x==1.*", "x>=1.0rc1", "x<1"]).map(Requirement)


@given(files, targets, requirements)
def test_the_choice_is_installable_and_everything_else_has_a_reason(
    listed: list[ListedFile], target: Target, requirement: Requirement
) -> None:
    found = choose(listed, requirement, target)
    assert [c.file for c in found.considered] == listed
    assert all(c.installable or c.why for c in found.considered)
    if found.chosen is None:
        assert not found.installable
        return
    version = found.chosen.name.version
    assert version is not None
    assert requirement.specifier.contains(version, prereleases=True)
    assert target.rank(found.chosen.name.tags) is not None
    others = [f.name.version for f in found.installable if f.name.version is not None]
    assert version == max(others)


@given(files, targets, requirements)
def test_the_choice_does_not_depend_on_the_order_of_the_list(
    listed: list[ListedFile], target: Target, requirement: Requirement
) -> None:
    one = choose(listed, requirement, target).chosen
    other = choose(reversed(listed), requirement, target).chosen
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.name.name == other.name.name
