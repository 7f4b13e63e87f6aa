"""The Debian package, built of the sources as they are now."""

import shutil
import subprocess
from pathlib import Path

from tests.deploy.debian_root import run
from tests.support.tools import skip

ROOT = Path(__file__).resolve().parents[2]


def clone(folder: Path) -> Path:
    """A clone with one commit of the sources as they are now, and the same .venv."""
    folder.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout  # fmt: skip
    for name in sorted(set(listed.decode().split("\0")) - {""}):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    run("git", "init", "--quiet", cwd=folder)
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    """All that is there, as of a fixed time."""
    when = "2026-01-02T03:04:05Z"
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    run("git", "add", "--all", cwd=folder)
    run("env", f"GIT_COMMITTER_DATE={when}", "git", *who, "commit", "--quiet", "--message=All",
        f"--date={when}", cwd=folder)  # fmt: skip


def built(sources: Path, version: str = "") -> Path:
    """The package of a clone."""
    if shutil.which("dpkg-deb") is None:
        skip("dpkg-deb is not installed", {"debian"})
    said = run("env", f"DEB_VERSION={version}", sources / "scripts" / "deb")
    return sources / said.splitlines()[-1]
