"""The MSI as an administrator meets it, under wine: installed, used, replaced, removed.

What wine does not do (docs/windows.md) is left out here, and proven by `smoke.ps1` on a Windows.
"""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.test_windows_msi import built, needed_programs
from tests.support.ports import free_port
from tests.support.resident import resident
from tests.support.samples import sample, unpacked
from tests.support.wine import Wine, windows_path

pytestmark = pytest.mark.slow

SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
PERFORMANCE = rf"{SERVICES}\ESENT\Performance"
EVENT_SOURCE = rf"{SERVICES}\EventLog\Application\esewatch"
PYTHON = r"C:\Program Files\esewatch\python\python.exe"
KEYS = (r"HKLM\SOFTWARE", rf"{SERVICES}")
OF_WINE = re.compile(
    r"\\(RNG|Fonts|Print|Enum|Winmgmt|MSIServer)\b|Installer\\Rollback|MUI|FontSubst"
)
OF_THE_READING = {"path", "seconds", "direct", "device", "read_latency_seconds"}
OF_THE_INSTALLER = re.compile(r"\\Installer(\\[A-Za-z]+|\\S-1-5-18)*$")
LOG = "csv/get-winevent-directory-service-a.csv"


class Server:
    """One server with an event log in a file, and its MSI."""

    def __init__(self, wine: Wine, folder: Path) -> None:
        self.wine, self.folder = wine, folder
        self.port = free_port()
        self.program = wine.drive / "Program Files" / "esewatch"
        self.data = wine.drive / "ProgramData" / "esewatch"

    def msiexec(self, what: str, package: Path, *words: str) -> None:
        """Raises AssertionError when Windows says that it failed."""
        self.wine.run("msiexec", what, windows_path(package), "/qn", *words)

    def install(self, package: Path) -> None:
        """With a configuration that reads the log of the file."""
        log = windows_path(self.folder / "log.csv")
        self.data.mkdir(parents=True)
        (self.data / "esewatch.yml").write_text(
            f"sources:\n  - {{type: event_stream, path: '{log}', timezone: UTC}}\n"
            "journal: state/journal.db\n"
        )
        self.msiexec("/i", package, f"LISTENADDRESS=127.0.0.1:{self.port}")

    def metrics(self, line: str = "esewatch_build_info") -> str:
        """What the agent serves, as soon as `line` is in it."""
        for _ in range(240):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
                    served = str(answer.read().decode())
                if line in served:
                    return served
            time.sleep(0.5)
        raise AssertionError(f"no {line}: {self.log()}")

    def log(self) -> str:
        file = self.data / "logs" / "esewatch.log"
        return file.read_text(encoding="utf-8") if file.exists() else "no log"

    def files(self) -> set[str]:
        """All files of drive C but those that Windows itself writes at any time."""
        found = {str(file.relative_to(self.wine.drive)) for file in self.wine.drive.rglob("*")}
        return {
            name for name in found if not re.search(r"^windows/(temp|Installer|inf)|Temp", name)
        }

    def registry(self) -> set[str]:
        """Each key, and each value with its key."""
        found, key = set(), ""
        for line in "\n".join(map(self.wine.query, KEYS)).splitlines():
            key = line if line.startswith("HKEY") else key
            if line.strip() and not OF_WINE.search(key):
                found.add(key if line == key else f"{key}: {line.strip()}")
        return found


def new_server(folder: Path) -> Server:
    """One with the counters of ESENT, and an event log in a file."""
    wine = Wine(folder / "prefix", services=True)
    wine.run("reg", "add", PERFORMANCE, "/v", "Library", "/d", "esentprf.dll", "/f")
    # Windows has other sources beside ours; the empty key of wine would go with ours.
    other = (EVENT_SOURCE.replace("esewatch", "ESENT"), "/v", "TypesSupported", "/d", "7", "/f")
    wine.run("reg", "add", *other)
    shutil.copy(sample(LOG), folder / "log.csv")
    return Server(wine, folder)


@pytest.fixture(name="package", scope="module")
def _package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed_programs()
    return built(tmp_path_factory.mktemp("first"))


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Iterator[Server]:
    """One with the MSI installed."""
    server = new_server(tmp_path_factory.mktemp("server"))
    server.install(package)
    yield server
    server.wine.close()


@pytest.fixture(name="bare")
def _bare(tmp_path: Path) -> Iterator[Server]:
    server = new_server(tmp_path)
    yield server
    server.wine.close()


def test_files_registry_and_service_are_there_and_the_counters_shown(server: Server) -> None:
    service = server.wine.query(rf"{SERVICES}\esewatch")
    image = re.search(r"ImagePath\s+REG_\w+\s+(.*)", service)
    source = server.wine.query(EVENT_SOURCE)

    assert (server.program / "python" / "python.exe").exists()
    assert image is not None
    # An unquoted path with a space lets who may write C:\ start a program of theirs.
    assert image[1].startswith(f'"{PYTHON}" -B -P -m esewatch run --windows.service ')
    assert re.search(r"ObjectName\s+REG_SZ\s+NT SERVICE\\esewatch", service)
    assert re.search(r"Start\s+REG_DWORD\s+0x2\b", service)
    assert re.search(
        r"EventMessageFile\s+REG_EXPAND_SZ\s+%SystemRoot%\\System32\\EventCreate.exe", source
    )
    assert re.search(r"Show Advanced Counters\s+REG_DWORD\s+0x1\b", server.wine.query(PERFORMANCE))
    assert f"127.0.0.1:{server.port}" in server.wine.query(r"HKLM\Software\esewatch")


def test_the_service_runs_after_the_installation_and_serves_metrics(
    server: Server, package: Path
) -> None:
    served = server.metrics()
    size = sum(file.stat().st_size for file in server.program.rglob("*") if file.is_file())
    process = subprocess.run(
        ["pgrep", "-f", "--", f"--web.listen-address 127.0.0.1:{server.port}$"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    memory = resident(int(process.stdout.split()[0]))

    assert 'esewatch_build_info{kernel="compiled",python_version="3.13' in served
    assert "RUNNING" in server.wine.run("sc", "query", "esewatch")
    sizes = {"MSI": package.stat().st_size, "installed": size, "resident": memory}
    print({what: f"{size / 1e6:.1f} MB" for what, size in sizes.items()})
    assert package.stat().st_size < 40_000_000


@pytest.mark.parametrize(
    "words",
    [
        ["events", "--format", "json", LOG],
        ["events", "--format", "json", "json/otrf-ntdsutil.jsonl"],
        ["events", "--format", "json", "text/console-get-eventlog-1.txt"],
        ["events", "--format", "json", "evtx/lab-ec2-dc-application-1.evtx"],
        ["counters", "--format", "csv", "blg/powershell-CounterSamples.blg"],
    ],
    ids=lambda words: Path(words[-1]).suffix,
)
def test_what_is_read_from_a_file_is_what_linux_reads(server: Server, words: list[str]) -> None:
    file = sample(words[-1])

    there = server.wine.run(
        PYTHON, "-B", "-m", "esewatch", *words[:-1], windows_path(file), status=None
    )

    assert lines(there) == lines(here(*words[:-1], str(file)))
    assert there.count("\n") > 1


@pytest.mark.parametrize("command", ["scan", "check"])
def test_databases_are_judged_as_on_linux(server: Server, command: str) -> None:
    packed = sorted(sample("db").glob("*.gz"))
    assert len(packed) >= 13
    for each in packed:
        file = unpacked(f"db/{each.name}", server.folder)
        words = (command, "--format", "json")

        there = server.wine.run(
            PYTHON, "-B", "-m", "esewatch", *words, windows_path(file), status=None
        )

        assert verdict(there) == verdict(here(*words, str(file))), each.name
        file.unlink()


def here(*words: str) -> str:
    """What the same command says on this system."""
    ended = subprocess.run(
        [sys.executable, "-m", "esewatch", *words], capture_output=True, text=True, check=False
    )
    return ended.stdout + ended.stderr


def lines(said: str) -> list[str]:
    """What is said, without where the file is; remarks come between the lines at any place."""
    return sorted(re.sub(r'[^\s",]*shared[^\s",:]*', "FILE", said).splitlines())


def verdict(said: str) -> object:
    """What is found, without the file's name and how it was read."""

    def clean(found: object) -> object:
        if isinstance(found, dict):
            return {key: clean(value) for key, value in found.items() if key not in OF_THE_READING}
        return [clean(each) for each in found] if isinstance(found, list) else found

    return clean(json.loads(next(line for line in said.splitlines() if line.startswith("{"))))


def test_a_repair_brings_back_what_is_missing_and_keeps_what_was_given(
    server: Server, package: Path
) -> None:
    """By the properties that `/fa` sets: wine's msiexec refuses the option itself.

    Wine refuses it too while the service starts or stops, so it is waited for.
    """
    server.metrics()
    served = f"127.0.0.1:{server.port}"
    file = server.program / "app" / "esewatch" / "model.py"
    whole = file.read_bytes()
    file.unlink()

    server.msiexec("/i", package, "REINSTALL=ALL", "REINSTALLMODE=amus")

    assert file.read_bytes() == whole
    assert served in server.wine.query(r"HKLM\Software\esewatch")
    assert served in server.wine.query(rf"{SERVICES}\esewatch")
    assert "esewatch_build_info" in server.metrics()


def test_an_upgrade_keeps_state_and_uninstalling_leaves_nothing(
    bare: Server, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = 'ese_events_total{computer="dc300100000",event_id="700",provider="NTDS ISAM"} 9.0'
    files, registry = bare.files(), bare.registry()
    bare.install(package)
    bare.metrics(known)
    configuration = (bare.data / "esewatch.yml").read_bytes()
    # What is known from now on is known from the journal.
    (bare.folder / "log.csv").unlink()

    monkeypatch.setenv("MSI_VERSION", "0.1.1")
    newer = built(bare.folder / "second")
    bare.msiexec("/i", newer)
    bare.metrics(known)
    assert (bare.data / "esewatch.yml").read_bytes() == configuration
    assert newer.name == "esewatch-0.1.1-x64.msi"

    bare.msiexec("/x", newer, "PURGE=1")
    # The first MSI of a Windows leaves the folders of the installer itself, with nothing in them.
    left = [each for each in bare.registry() ^ registry if not OF_THE_INSTALLER.search(each)]
    assert (bare.files() - files, sorted(left)) == (set(), [])
