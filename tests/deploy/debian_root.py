"""Debian roots to throw away: made by debootstrap, entered and booted by systemd-nspawn.

Needs root. The mirror is the one that apt of this system uses; what a test installs is fetched
once and served to the roots from a folder, so that they need no network and meet no server of
this machine.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.harness import Server, wait_for
from tests.support.patience import PATIENCE
from tests.support.tools import skip

PROGRAMS = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "nsenter": "util-linux",
    "dpkg-scanpackages": "dpkg-dev",
}
ON_BOARD = ["/usr/bin/env", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
MIRROR = "/srv/mirror"
DESK = "/mnt"
"""Where commands are given in a root, and packages lie."""


def require_debian_roots() -> None:
    """Skip the test where no root can be made."""
    if os.geteuid() != 0:
        skip("a Debian root is made by root only", {"debian"})
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            skip(f"{program} is not installed (apt-get install {package})", {"debian"})


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What the command writes; fails with that and its error output when the command fails."""
    ended = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False, cwd=cwd, timeout=PATIENCE,
    )  # fmt: skip
    said = f"{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
    assert ended.returncode == 0, f"{command}: {ended.returncode}\n{said}"
    return ended.stdout


def apt_mirror() -> tuple[str, str]:
    """(address, suite) of the archive that apt of this system has for its own release."""
    release = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    suite = release.get("VERSION_CODENAME", "").strip('"')
    wanted = ("--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages")
    archives = [line.split() for line in run("apt-get", "indextargets", *wanted).splitlines()]
    found = [address for codename, address in archives if codename == suite]
    if not found:
        skip(f"apt has no archive of {suite or 'this system'}", {"debian"})
    return found[0], suite


def _alone() -> list[str]:
    """Without the service manager of this machine, where there is one."""
    if Path("/run/systemd/system").exists():
        return ["--register=no"]
    return ["--register=no", "--keep-unit"]


class Root:
    """A Debian in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def nspawn(self, *options: str) -> list[str]:
        """The command that enters this root; what is to run there comes behind it."""
        return ["systemd-nspawn", "--quiet", f"--directory={self.path}", "--console=pipe",
                "--timezone=off", *_alone(), *options]  # fmt: skip

    def run(self, *command: str, options: Sequence[str] = ("--private-network",)) -> str:
        """What a command writes that runs in here as root, without network."""
        return run(*self.nspawn(*options), *ON_BOARD, *command)

    def copy(self, path: Path) -> "Root":
        """Another root with the same content."""
        run("cp", "--archive", "--reflink=auto", self.path, path)
        return Root(path)

    def names(self, part: str) -> list[str]:
        """Paths in here whose names contain `part`, logs and lists of dpkg and apt left out."""
        found = run("find", self.path, "-xdev", "-iname", f"*{part}*", "-printf", "/%P\n")
        ours = (f"{DESK}/", f"{MIRROR}/", "/var/log/", "/var/cache/", "/var/lib/apt/")
        return sorted(line for line in found.splitlines() if not line.startswith(ours))

    def use_mirror(self, mirror: Path) -> None:
        """Let apt take all packages from this folder."""
        shutil.copytree(mirror, self.path / MIRROR[1:])
        for old in (self.path / "etc/apt").glob("sources.list*/*"):
            old.unlink()
        (self.path / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{MIRROR} ./\n")


def fresh_root(path: Path) -> Root:
    """The smallest Debian: what debootstrap calls minbase."""
    address, suite = apt_mirror()
    run("debootstrap", "--variant=minbase", suite, path, address)
    return Root(path)


def make_mirror(root: Root, mirror: Path, packages: Sequence[str | Path]) -> None:
    """Fetch packages, and what they need in this root, into a folder that apt can use."""
    mirror.mkdir()
    names = []
    for package in packages:
        if isinstance(package, Path):
            shutil.copy(package, root.path / DESK[1:])
            names.append(f"{DESK}/{package.name}")
        else:
            names.append(package)
    online = ["--resolv-conf=copy-host"]
    root.run("apt-get", "update", options=online)
    root.run("apt-get", "install", "--yes", "--no-install-recommends", "--download-only", *names,
             options=online)  # fmt: skip
    for archive in (root.path / "var/cache/apt/archives").glob("*.deb"):
        shutil.move(archive, mirror)
    index = subprocess.run(
        ["dpkg-scanpackages", "--multiversion", "."],
        cwd=mirror, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (mirror / "Packages").write_text(index.stdout)


class Booted:
    """A root that runs with systemd as its first process, with no network but its own loopback."""

    def __init__(self, server: Server, first: int) -> None:
        self.server = server
        self.first = first

    def shell(self, script: str) -> str:
        """What a script of sh writes in DESK; fails when a command of it does."""
        enter = ["nsenter", f"--target={self.first}", "--all", f"--wdns={DESK}"]
        return run(*enter, *ON_BOARD, "sh", "-ec", script)

    def get(self, url: str) -> str:
        """Body of a GET from within, empty when there is no good answer."""
        fetch = (
            "import sys, urllib.request as r; "
            "sys.stdout.write(r.urlopen(sys.argv[1], timeout=5).read().decode())"
        )
        enter = ["nsenter", f"--target={self.first}", "--net"]
        ended = subprocess.run(
            [*enter, sys.executable, "-c", fetch, url],
            capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        return ended.stdout if ended.returncode == 0 else ""


@contextmanager
def booted(root: Root, log: Path) -> Iterator[Booted]:
    """Boot a root; it is shut down when the block ends."""
    server = Server(root.nspawn("--boot", "--private-network"), "", log)
    try:
        yield Booted(server, wait_for("systemd is up", lambda: _first_process(server)))
    finally:
        server.process.send_signal(signal.SIGTERM)
        try:
            server.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.process.kill()
            server.process.wait(PATIENCE)


def _first_process(server: Server) -> int | None:
    """Process id of the systemd in there, once it has started what it starts."""
    if server.process.poll() is not None:
        reason = f"systemd does not boot in a container here: {server.log.read_text()[-500:]}"
        pytest.fail(reason, pytrace=False)
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        state = subprocess.run(
            ["nsenter", f"--target={child}", "--all", "systemctl", "is-system-running"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if state.stdout.strip() in {"running", "degraded"}:
            return int(child)
    return None
