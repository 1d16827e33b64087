"""Package indexes: the user's own configuration, translated for uv, and what can be reached."""

from __future__ import annotations

import configparser
import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["PipSettings", "default_index", "pip_settings", "unreachable", "uv_arguments"]

PipSettings = dict[str, str]
_OPTIONS = ("index-url", "extra-index-url", "find-links", "no-index")
_TRUE = {"1", "true", "yes", "on"}
_TIMEOUT = 6.0


def _pip_files(env: Mapping[str, str]) -> list[Path]:
    """Pip's configuration files, least specific first (pip's documented order)."""
    home = Path(env.get("HOME", "/nonexistent"))
    config_home = Path(env.get("XDG_CONFIG_HOME", home / ".config"))
    dirs = env.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    files = [Path(d) / "pip" / "pip.conf" for d in reversed(dirs)] + [Path("/etc/pip.conf")]
    files += [home / ".pip" / "pip.conf", config_home / "pip" / "pip.conf"]
    return [*files, Path(env["PIP_CONFIG_FILE"])] if "PIP_CONFIG_FILE" in env else files


def pip_settings(env: Mapping[str, str]) -> PipSettings:
    """Where the user's pip looks for packages; environment variables beat files."""
    parser = configparser.RawConfigParser()
    for file in _pip_files(env):
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            message = f"pip's configuration cannot be read: {error}"
            raise BadInputError([Fault(file=str(file), message=message)]) from error
    found: PipSettings = {}
    for section in ("global", "install"):
        for option in _OPTIONS:
            if parser.has_option(section, option):
                found[option] = parser.get(section, option)
    for option in _OPTIONS:
        name = "PIP_" + option.upper().replace("-", "_")
        if name in env:
            found[option] = env[name]
    return {option: value.strip() for option, value in found.items() if value.strip()}


def default_index(env: Mapping[str, str]) -> list[str]:
    """Arguments that make uv use the user's default index, where pip has one configured."""
    settings = pip_settings(env)
    if "index-url" in settings and not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & env.keys():
        return ["--default-index", settings["index-url"]]
    return []


def uv_arguments(env: Mapping[str, str]) -> list[str]:
    """Arguments that make uv look where the user's pip looks.

    uv's own settings (UV_DEFAULT_INDEX, UV_INDEX, UV_FIND_LINKS ...) win where the user has
    them. pip merges all its indexes; uv is told to do so only where pip has extra ones, and
    only exact versions are ever asked for.
    """
    settings = pip_settings(env)
    arguments = default_index(env)
    if settings.get("no-index", "").lower() in _TRUE:
        arguments.append("--no-index")
    if "extra-index-url" in settings and not {"UV_INDEX", "UV_EXTRA_INDEX_URL"} & env.keys():
        for url in settings["extra-index-url"].split():
            arguments += ["--index", url]
        arguments += ["--index-strategy", "unsafe-best-match"]
    if "find-links" in settings and "UV_FIND_LINKS" not in env:
        for place in settings["find-links"].split():
            arguments += ["--find-links", place]
    return arguments


@lru_cache(maxsize=64)
def unreachable(url: str) -> str:
    """Why an index cannot be asked just now; empty when it answers. Asked once per run."""
    try:
        request = urllib.request.Request(url.rstrip("/") + "/", method="HEAD")  # noqa: S310
        if request.type not in {"http", "https", "file"}:
            return f"{request.type} is not a scheme of package indexes"
        with urllib.request.urlopen(request, timeout=_TIMEOUT):  # noqa: S310 - scheme checked
            return ""
    except urllib.error.HTTPError as error:
        # Any answer of the server means that it is there; many refuse HEAD on a folder.
        return "" if error.code < 500 else f"{url} answers {error.code}"  # noqa: PLR2004
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        return f"{url} cannot be reached: {getattr(reason, 'strerror', None) or reason}"
