"""The Debian package: what is in it, and its life in a Debian that was made for the test."""

import gzip
import re
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.debian_package import built, clone
from tests.deploy.debian_root import (
    DESK,
    Booted,
    Root,
    booted,
    fresh_root,
    make_mirror,
    require_debian_roots,
    run,
)
from tests.e2e.harness import Server, get, wait_for
from tests.e2e.logs import LABEL, utc_now, write_checksum_pass, write_defrag_pass
from tests.support.edb import write_edb
from tests.support.evtx_writer import EvtxWriter
from tests.support.ports import free_port
from tests.support.tools import skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "deploy.md"
HIGHER = "9.0"
CONFIGURATION = "etc/esewatch/esewatch.yml"
SERVICE = "usr/lib/systemd/system/esewatch.service"
DROP_INS = "etc/systemd/system/esewatch.service.d"
UP = "esewatch_source_up"
PASSES = "ese_passes_completed_total"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone of the sources."""
    folder = tmp_path_factory.mktemp("sources")
    yield clone(folder / "clone")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def packages(sources: Path) -> tuple[Path, Path]:
    """The package, and one of a higher version."""
    return built(sources), built(sources, HIGHER)


@pytest.fixture(scope="module")
def content(
    packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The folder with what is in the package, control files in DEBIAN."""
    folder = tmp_path_factory.mktemp("content")
    run("dpkg-deb", "--raw-extract", packages[0], folder / "root")
    yield folder / "root"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def minimal(
    packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Root]:
    """The smallest Debian, whose apt has what the tests install. It is to be copied."""
    require_debian_roots()
    folder = tmp_path_factory.mktemp("debian")
    root = fresh_root(folder / "minimal")
    wanted: list[str | Path] = [packages[0], "systemd-sysv", "dbus", "prometheus"]
    make_mirror(root.copy(folder / "online"), folder / "mirror", wanted)
    root.use_mirror(folder / "mirror")
    yield root
    shutil.rmtree(folder)


@pytest.fixture
def root(minimal: Root, tmp_path: Path) -> Iterator[Root]:
    """A fresh minimal Debian."""
    made = minimal.copy(tmp_path / "root")
    yield made
    shutil.rmtree(made.path)


def give(root: Root, package: Path) -> str:
    """Put a package on the desk there; its path there."""
    shutil.copy(package, root.path / DESK[1:])
    return f"{DESK}/{package.name}"


def install(root: Root, package: Path) -> None:
    path = give(root, package)
    root.run("apt-get", "update")
    root.run("apt-get", "install", "--yes", "--no-install-recommends", path)


def write_log(path: Path) -> None:
    """The log of a server with one pass of each kind."""
    with EvtxWriter(path) as log:
        write_defrag_pass(log, utc_now())
        write_checksum_pass(log, utc_now())


def feed(root: Root) -> Path:
    """The log of a server, where the shipped configuration looks for it."""
    folder = root.path / "srv" / "ese-logs" / "ex01"
    folder.mkdir(parents=True)
    write_log(folder / "app.evtx")
    return folder / "app.evtx"


def value(metrics: str, name: str, **labels: str) -> float | None:
    """The value of the metric with these labels among others, None while it is absent."""
    found = [
        sample.value
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return found[0] if found else None


@contextmanager
def served(root: Root, log: Path) -> Iterator[str]:
    """Address of the agent, started as the unit starts it but without systemd, as its user."""
    unit = (root.path / SERVICE).read_text()
    command = re.findall(r"^ExecStart=(.*) \$ARGS$", unit, re.MULTILINE)[0].split()
    port = free_port()
    words = root.nspawn("--user=esewatch", "--kill-signal=SIGTERM")
    address = f"127.0.0.1:{port}"
    server = Server([*words, *command, "--web.listen-address", address], f"http://{address}", log)
    try:
        server.wait_until_ready("/-/ready")
        yield server.url
    finally:
        status = server.stop()
    assert status == 0, log.read_text()


def unpacked(file: Path) -> bytes:
    """What a file holds, not how it is packed."""
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def test_the_same_commit_gives_the_same_package_in_another_folder(
    sources: Path, packages: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(sources, tmp_path / "another", symlinks=True)
    shutil.rmtree(tmp_path / "another" / "dist")

    again = built(tmp_path / "another")

    assert again.name == packages[0].name
    assert again.read_bytes() == packages[0].read_bytes()


def test_the_package_holds_no_path_and_no_address_of_the_machine_that_built_it(
    sources: Path, content: Path
) -> None:
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    # A system's own Python lies in /usr, as on every machine.
    foreign = {
        str(ROOT), str(sources), sys.prefix, sys.base_prefix, site.getuserbase(), "/tmp/tmp.",
        *re.findall(r"https?://[^'\s]+", index),
    } - {"/usr"}  # fmt: skip
    found = {
        (str(file.relative_to(content)), word)
        for file in content.rglob("*")
        if file.is_file() and not file.is_symlink()
        for word in foreign
        if word.encode() in unpacked(file)
    }

    assert found == set()
    names = {file.name for file in content.rglob("*")}
    assert names.isdisjoint({"RECORD", "direct_url.json", "INSTALLER", "__pycache__"})
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_package_holds_the_agent_its_kernel_and_all_locked_libraries(content: Path) -> None:
    [code] = (content / "usr/lib/esewatch/lib").glob("python3.*/site-packages")
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    locked = {
        (name.lower().replace("-", "_"), version)
        for name, version, marker in re.findall(
            r"^([\w.-]+)==([\w.]+)(?: ; (.*))? \\$", lock, re.MULTILINE
        )
        if "win32" not in marker
    }
    there = {
        (name.lower(), version)
        for name, version in (
            folder.name.removesuffix(".dist-info").rsplit("-", 1)
            for folder in code.glob("*.dist-info")
        )
    }

    assert {name for name, _ in there - locked} == {"esewatch"}
    assert locked - there == set()
    assert (code / "esefiles/pages/_kernel.abi3.so").exists()
    for kind, pattern in (
        *((folder, "*.yml") for folder in ("rules", "rules/examples", "rules/site", "alerts")),
        ("dashboards", "*.json"),
    ):
        shipped = {file.name for file in (content / "usr/share/esewatch" / kind).glob(pattern)}
        ours = {file.name for file in (ROOT / kind).glob(pattern)} - {"lint.yml"}
        assert shipped >= ours


def test_the_package_has_the_manual_page_and_the_files_that_it_names(content: Path) -> None:
    page = unpacked(content / "usr/share/man/man1/esewatch.1.gz").decode("ascii")
    named = set(re.findall(r"/(?:etc|usr|var)/[\w./]*\w", page))
    made_by_postinst = {"/var/lib/esewatch"}

    assert re.match(r'\.TH ESEWATCH "1" "2026\\-01\\-02" "esewatch ', page)
    assert len(named) >= 5
    assert {name for name in named if not (content / name[1:]).exists()} == made_by_postinst


def test_lintian_finds_nothing_to_warn_of(packages: tuple[Path, Path]) -> None:
    if shutil.which("lintian") is None:
        skip("lintian is not installed (apt-get install lintian)", {"debian"})

    found = run(
        "lintian", "--allow-root", "--fail-on=warning", "--tag-display-limit=0", packages[0]
    )

    assert re.findall("^[EW]: .*", found, re.MULTILINE) == []


def test_installed_in_a_minimal_debian_it_serves_and_state_and_settings_outlive_an_upgrade(
    root: Root, packages: tuple[Path, Path], tmp_path: Path
) -> None:
    install(root, packages[0])
    log = feed(root)
    state = root.path / "var/lib/esewatch"
    owner = root.run("stat", "--format=%U:%G %a", "/var/lib/esewatch")
    with served(root, tmp_path / "first.log") as url:
        wait_for("a pass", lambda: value(get(f"{url}/metrics"), PASSES, database=LABEL) == 1)
    with (root.path / CONFIGURATION).open("a") as configuration:
        configuration.write("retention: 91d\n")
    log.unlink()

    install(root, packages[1])

    assert owner.strip() == "esewatch:esewatch 750"
    assert f"Version: {HIGHER}" in root.run("dpkg", "--status", "esewatch")
    assert (root.path / CONFIGURATION).read_text().endswith("\nretention: 91d\n")
    with served(root, tmp_path / "second.log") as url:
        assert value(get(f"{url}/metrics"), PASSES, database=LABEL) == 1
    root.run("apt-get", "remove", "--yes", "esewatch")
    assert (root.path / CONFIGURATION).exists()
    assert (state / "journal.db").exists()
    assert not (root.path / "usr/lib/esewatch").exists()
    root.run("apt-get", "purge", "--yes", "esewatch")
    assert root.names("esewatch") == []
    assert "esewatch" not in (root.path / "etc/passwd").read_text()
    assert "esewatch" not in (root.path / "etc/group").read_text()


def test_the_launcher_takes_nothing_from_the_folder_and_the_user_that_start_it(
    root: Root, packages: tuple[Path, Path]
) -> None:
    install(root, packages[0])
    for folder in (DESK[1:], "usr/local/lib/python3/dist-packages"):
        (root.path / folder / "esewatch").mkdir(parents=True)
        (root.path / folder / "esewatch" / "__init__.py").write_text("raise SystemExit(9)\n")

    said = root.run(
        "sh", "-ec", f"cd {DESK}; export PYTHONPATH={DESK} HOME={DESK} PYTHONHOME={DESK};"
        " esewatch config check --config.file /etc/esewatch/esewatch.yml; esewatch --version",
    )  # fmt: skip

    assert re.search(r"^esewatch \d", said, re.MULTILINE)


def commands() -> list[str]:
    """The commands of the documentation that lead to a scraped service."""
    block = re.search(r"^## Five commands\n.*?^```sh\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert block is not None
    return block[1].splitlines()


def shown(heading: str) -> list[str]:
    """The indented lines below a heading of the documentation."""
    section = re.search(rf"^## {heading}\n(.*?)^## ", PAGE.read_text(), re.M | re.S)
    assert section is not None
    return [line.strip() for line in section[1].splitlines() if line.startswith("    ")]


def scraped(debian: Booted, query: str) -> str:
    """What the Prometheus in there answers to a query, as JSON."""
    return debian.get(f"http://127.0.0.1:9090/api/v1/query?query={query}")


def metrics(debian: Booted, port: int = 19703) -> str:
    return debian.get(f"http://127.0.0.1:{port}/metrics")


def expect_all_sources_up(debian: Booted) -> None:
    down = [
        line
        for line in metrics(debian).splitlines()
        if line.startswith("esewatch_source_up{") and not line.endswith(" 1.0")
    ]
    assert down == []


def expect_fed(debian: Booted, root: Root) -> None:
    """The log of a server is taken in once it lies where the documentation puts it."""
    write_log(root.path / DESK[1:] / "app.evtx")
    debian.shell("\n".join(line for line in shown("Feeding it") if line.startswith("install ")))
    wait_for("a pass", lambda: value(metrics(debian), PASSES, database=LABEL) == 1)


def expect_reloaded(debian: Booted, root: Root, folder: Path) -> None:
    """A page scan, a process of its own, is begun by a reload and may not read a group's files."""
    snapshots = root.path / "srv" / "snapshots"
    snapshots.mkdir()
    made = write_edb(folder / "copy", pages=400)
    made.flip(7, 8 * 1000, 8 * 1010)
    shutil.copyfile(made.path, snapshots / "priv06.edb")
    debian.shell("groupadd snapshots; chgrp -R snapshots /srv/snapshots; chmod 750 /srv/snapshots")
    file = root.path / CONFIGURATION
    source = '  - {name: pages, type: page_scan, paths: ["/srv/snapshots/*.edb"], throttle_ms: 0}\n'
    file.write_text(file.read_text().replace("\nsources:\n", f"\nsources:\n{source}"))
    debian.shell("\n".join(shown("Configuring it")))
    wait_for("it is down", lambda: value(metrics(debian), UP, source="pages") == 0)


def expect_a_scanned_database(debian: Booted, root: Root) -> None:
    """With the group given to the service the bad page is found within the sandbox."""
    folder = root.path / DROP_INS
    folder.mkdir()
    lines = [line for line in shown("Feeding it") if not line.startswith("install ")]
    (folder / "override.conf").write_text("\n".join(lines) + "\n")
    debian.shell("systemctl daemon-reload; systemctl restart esewatch")
    labels = {"database": "/srv/snapshots/priv06.edb", "kind": "uncorrectable"}
    wait_for(
        "the bad page is found",
        lambda: value(metrics(debian), "ese_known_bad_pages", **labels) == 1,
    )


def expect_a_restart(debian: Booted) -> None:
    """A crash is answered with a new process, which has the state of the old one."""
    before = debian.shell("systemctl show --property=MainPID --value esewatch").strip()
    debian.shell("systemctl kill --signal=KILL --kill-who=main esewatch")
    wait_for(
        "another process",
        lambda: (
            debian.shell("systemctl show --property=MainPID --value esewatch").strip()
            not in {before, "0"}
        ),
    )
    wait_for("it serves", lambda: value(metrics(debian), PASSES, database=LABEL) == 1)


def expect_another(debian: Booted, root: Root) -> None:
    """A service beside the first, with settings, state and an address of its own."""
    debian.shell("\n".join(shown("Several on one machine")))

    wait_for("a pass", lambda: value(metrics(debian, 19704), PASSES, database=LABEL) == 1)

    assert (root.path / "var/lib/esewatch/site-b/journal.db").exists()
    assert debian.shell("systemctl show --property=User --value esewatch@site-b") == "esewatch\n"


def test_the_five_commands_lead_from_a_fresh_debian_to_a_scraped_hardened_service(
    root: Root, packages: tuple[Path, Path], tmp_path: Path
) -> None:
    lines = commands()
    root.run("apt-get", "update")
    root.run("apt-get", "install", "--yes", "--no-install-recommends", "systemd-sysv", "dbus")
    shutil.rmtree(root.path / "var/lib/apt/lists")
    give(root, packages[0])
    with booted(root, tmp_path / "boot.log") as debian:
        said = [debian.shell(line) for line in lines]
        wait_for(
            "Prometheus has scraped it",
            lambda: '"1"]' in scraped(debian, "up%7Bjob%3D%22esewatch%22%7D"),
        )
        expect_fed(debian, root)
        expect_reloaded(debian, root, tmp_path)
        expect_a_scanned_database(debian, root)
        expect_all_sources_up(debian)
        expect_a_restart(debian)
        expect_another(debian, root)
        enabled = debian.shell("systemctl is-enabled esewatch").strip()
        debian.shell("systemctl stop esewatch")
        ended = debian.shell("systemctl show --property=Result --value esewatch").strip()
        debian.shell("rm /etc/esewatch/site-b.yml /etc/default/esewatch-site-b")
        debian.shell("apt-get purge --yes esewatch")
    shutil.rmtree(root.path / DROP_INS)

    assert len(lines) <= 5
    assert re.search(r"exposure level for esewatch.service: [01]\.\d OK", said[-1])
    assert (enabled, ended) == ("enabled", "success")
    assert root.names("esewatch") == []
