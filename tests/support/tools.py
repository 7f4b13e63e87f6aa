"""Programs that some tests run for real: where they are, and what happens without them.

`require("promtool")` is the only way a test asks for one. Without the program the
test is skipped with the reason; when the environment variable `ESEWATCH_NO_SKIP`
names the program or its group (`prometheus,alertmanager`), it fails instead, so that
a run which ought to have the servers cannot pass without them.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

NO_SKIP = "ESEWATCH_NO_SKIP"


class Tool(NamedTuple):
    """One program: the names it has on different systems, its group, how to get it."""

    executables: tuple[str, ...]
    group: str
    package: str


TOOLS = {
    "prometheus": Tool(("prometheus",), "prometheus", "prometheus"),
    "promtool": Tool(("promtool",), "prometheus", "prometheus"),
    "alertmanager": Tool(
        ("prometheus-alertmanager", "alertmanager"), "alertmanager", "prometheus-alertmanager"
    ),
    "amtool": Tool(("amtool",), "alertmanager", "prometheus-alertmanager"),
    "victoria-metrics": Tool(("victoria-metrics",), "victoria-metrics", "victoria-metrics"),
    "vmalert": Tool(("vmalert",), "victoria-metrics", "victoria-metrics"),
    "evtxexport": Tool(("evtxexport",), "evtxexport", "libevtx-utils"),
    "wine": Tool(("wine",), "wine", "wine"),
    "nginx": Tool(("nginx",), "nginx", "nginx-light"),
    "chromium": Tool(("chromium", "chromium-browser", "google-chrome"), "chromium", "chromium"),
}


def find(name: str) -> str | None:
    """Path of the program `name` of TOOLS, None when it is not installed."""
    return next((path for exe in TOOLS[name].executables if (path := shutil.which(exe))), None)


def require(name: str) -> str:
    """Path of the program `name`; skips (or fails, see above) the test without it."""
    return find(name) or _absent(name)


def compiler() -> str:
    """Path of the C compiler that the kernel is built with too; skips the test without it."""
    return shutil.which("cc") or skip("no C compiler is installed", {"kernel"})


def built(name: str) -> str:
    """Path of a program that scripts/long-term builds; skips the test without it."""
    return shutil.which(name) or skip(f"{name} is not built (scripts/long-term)", {name})


def newest(name: str) -> str:
    """Path of promtool or prometheus as scripts/prometheus3 builds it; else the test is skipped."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache, "esewatch", "prometheus3")
    return shutil.which(name, path=folder) or skip(
        f"the newest {name} is not built (make prometheus3)", {"prometheus3"}
    )


def _absent(name: str) -> NoReturn:
    tool = TOOLS[name]
    reason = f"{name} is not installed (`make tools`, or apt-get install {tool.package})"
    skip(reason, {name, tool.group})


def skip(reason: str, names: set[str]) -> NoReturn:
    """Skip the test, or fail it where one of its `names` must not be skipped."""
    if names & no_skip():
        pytest.fail(f"{reason}; {NO_SKIP} forbids to skip it", pytrace=False)
    pytest.skip(reason)


def no_skip() -> set[str]:
    """The names in ESEWATCH_NO_SKIP."""
    return {name.strip() for name in os.environ.get(NO_SKIP, "").split(",") if name.strip()}
