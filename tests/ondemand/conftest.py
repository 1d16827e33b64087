"""Where wheels are downloaded to, once for all tests on demand."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")
