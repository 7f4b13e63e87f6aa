"""The files of the compose stack, for the tests."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "deploy" / "container"
COMPOSE = CONTAINER / "compose.yml"


def compose() -> dict[str, Any]:
    """compose.yml with its anchors filled in."""
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return loaded


def services() -> dict[str, Any]:
    """Its services by name."""
    found: dict[str, Any] = compose()["services"]
    return found


def mounts(service: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """(file, folder or volume, where it is mounted, whether read-only)."""
    found = []
    for text in service.get("volumes", []):
        source, target, *mode = text.split(":")
        found.append((source, target, mode == ["ro"]))
    return found


def mounted(service: dict[str, Any], path: str) -> Path:
    """The file or folder of the repository that `service` sees as `path`."""
    for source, target, _ in mounts(service):
        if source.startswith(".") and (path == target or path.startswith(target + "/")):
            return (CONTAINER / source / path.removeprefix(target).lstrip("/")).resolve()
    raise KeyError(path)


def option(service: dict[str, Any], name: str) -> str:
    """Value of an option `--name=value` of its command."""
    (value,) = re.findall(rf"^--{re.escape(name)}=(.*)$", "\n".join(service["command"]), re.M)
    return str(value)
