"""The report in a real browser, from file://, without JavaScript, in both colour schemes."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTH, HEIGHT = 1000, 900

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of this repository, written by the command."""
    import sys

    target = tmp_path_factory.mktemp("pages") / "site"
    subprocess.run(
        [sys.executable, "-m", "wheelgrid", "report", "--out", str(target)],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
    )
    return target


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., bytes]:
    """Take a screenshot of a page; returns its PNG."""

    def take(page: Path, *flags: str) -> bytes:
        picture = tmp_path / "page.png"
        command = [
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", *flags),
            page.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=True)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"chromium does not run here: {type(error).__name__}")
        return picture.read_bytes()

    return take


def corner(png: bytes) -> tuple[int, int, int]:
    """The colour of the first pixel of an 8-bit RGB or RGBA PNG (its filter cannot matter)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, _, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (width, depth) == (WIDTH, 8)
    assert kind in {2, 6}
    position, data = 8, b""
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        if png[position + 4 : position + 8] == b"IDAT":
            data += png[position + 8 : position + 8 + length]
        position += 12 + length
    red, green, blue = zlib.decompress(data)[1:4]
    return red, green, blue


@pytest.mark.parametrize(
    "page",
    ["index.html", "p/torch-scatter/index.html", "c/torch2.15.0-cp310-linux_x86_64-cpu/index.html"],
)
def test_pages_render_light_and_dark_with_their_own_style(
    site: Path, browse: Callable[..., bytes], page: str
) -> None:
    light = browse(site / page)
    dark = browse(site / page, "--force-dark-mode")
    assert min(corner(light)) > 230, "the page is not light"
    assert max(corner(dark)) < 50, "the page is not dark"
    assert len(light) > 20_000, "the page is empty"
    # Without its style sheet a page has the browser's white, not ours.
    assert corner(light) != (255, 255, 255)
