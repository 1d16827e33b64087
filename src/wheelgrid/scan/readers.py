"""Which reader takes which file, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from wheelgrid.scan import (
    conda_files,
    ini_files,
    python_files,
    text_files,
    toml_files,
    yaml_files,
)
from wheelgrid.scan.mention import Mention, Source

__all__ = ["Reader", "is_generated", "is_workflow", "reader_of"]

Reader = Callable[[Source], Iterator[Mention]]

_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(rf"(?:.*/)?(?:{pattern})\Z"), reader)
    for pattern, reader in (
        (r"pyproject\.toml", toml_files.pyproject),
        (r"Pipfile", toml_files.pipfile),
        (r"tox\.toml", toml_files.tox_toml),
        (r"uv\.toml", toml_files.uv_toml),
        (r"pixi\.toml", toml_files.pixi_toml),
        (r"\.?mise\.toml", toml_files.mise_toml),
        (r"setup\.py", python_files.setup_py),
        (r"noxfile\.py", python_files.noxfile),
        (r"setup\.cfg", ini_files.setup_cfg),
        (r"tox\.ini", ini_files.tox_ini),
        (r"PKG-INFO|[^/]+\.dist-info/METADATA", ini_files.metadata),
        (r"(?:meta|recipe)\.ya?ml", conda_files.conda_recipe),
        (r"conda_build_config\.ya?ml|variants\.ya?ml", conda_files.conda_pins),
        (r"environment[^/]*\.ya?ml|conda[^/]*env[^/]*\.ya?ml", yaml_files.environment_yaml),
        (r"\.github/.*\.ya?ml|action\.ya?ml", yaml_files.any_yaml),
        (r"\.pre-commit-config\.ya?ml", yaml_files.pre_commit),
        (r"\.?readthedocs\.ya?ml|\.gitlab-ci\.ya?ml|\.?appveyor\.ya?ml", yaml_files.any_yaml),
        (r"azure-pipelines[^/]*\.ya?ml|\.azure[^/]*/.*\.ya?ml", yaml_files.any_yaml),
        (r"\.circleci/.*\.ya?ml|\.buildkite/.*\.ya?ml", yaml_files.any_yaml),
        (r"(?:docker-)?compose[^/]*\.ya?ml", yaml_files.any_yaml),
        (r"(?:Dockerfile|Containerfile)(?:[._-][^/]*)?", text_files.script),
        (r"[^/]*\.(?:[Dd]ockerfile|[Cc]ontainerfile)", text_files.script),
        (r"\.devcontainer/.*\.json|\.?devcontainer\.json", text_files.script),
        (r"[^/]+\.sh|[^/]+\.bat|[^/]+\.ps1|[Mm]akefile|justfile|Jenkinsfile", text_files.script),
        (r"pip\.conf|\.env", text_files.script),
        (r"\.python-version|\.python-versions|runtime\.txt", text_files.python_version),
        (r"\.tool-versions", text_files.tool_versions),
        (r"[^/]*(?:requirements|constraints)[^/]*\.(?:txt|in)", text_files.requirements),
        (r"requirements/[^/]*\.(?:txt|in)", text_files.requirements),
    )
)


def reader_of(name: str) -> Reader | None:
    """The reader of a file; None for one that pins no version. egg-info is made from the rest."""
    if ".egg-info/" in name:
        return None
    return next((reader for pattern, reader in _READERS if pattern.match(name)), None)


def is_workflow(name: str) -> bool:
    """Whether a file is a workflow of GitHub Actions, with matrices."""
    return ".github/workflows/" in f"/{name}"


def is_generated(name: str) -> bool:
    """Whether a file repeats what others say: the metadata of an sdist or wheel."""
    return name.rpartition("/")[2] in {"PKG-INFO", "METADATA"}
