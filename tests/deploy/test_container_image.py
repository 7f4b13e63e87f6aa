"""The image, built for real and run as compose.yml says: by number, on a root nobody can write.

buildah builds the Dockerfile as it is; in the place of the two images of Python stands a Debian
with its own Python, made by debootstrap. Needs root.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.deploy.debian_root import apt_mirror, run
from tests.deploy.dockerfile import DOCKERFILE, ROOT, health_command
from tests.deploy.stack import mounted, mounts, option, services
from tests.e2e.harness import Prometheus, Server, ended, get, wait_for
from tests.support.ports import free_address, free_port
from tests.support.tools import require, skip

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(1200)]

BASE = "localhost/python-of-debian"
IMAGE = "localhost/esewatch"
PROGRAMS = {"buildah": "buildah", "debootstrap": "debootstrap", "unshare": "util-linux"}
PACKAGES = "ca-certificates,gcc,libc6-dev,python3-dev,python3-pip,python3-venv"
STEPS = """\
set -eu
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    [ "$3" != ro ] || mount -o remount,bind,ro "$root$2"
    shift 3
done
shift
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs -o mode=1777,noexec,nosuid,nodev tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/env -i PATH=/opt/esewatch/bin:/usr/local/bin:/usr/bin:/bin \\
    setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \\
    --bounding-set=-all --inh-caps=-all "$@"
"""
"""Does what compose.yml asks of Docker, but for limits and networks."""


class Store:
    """Images of buildah in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *words: str | Path) -> str:
        """What a command of buildah writes; fails when it fails."""
        where = [f"--root={self._folder / 'root'}", f"--runroot={self._folder / 'run'}"]
        command = ["buildah", "--storage-driver=vfs", *where, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout.strip()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One with the image in it; gigabytes, so it is deleted at the end."""
    if os.geteuid() != 0:
        skip("an image is built and run without Docker by root only", {"image"})
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            skip(f"{program} is not installed (apt-get install {package})", {"image"})
    folder = tmp_path_factory.mktemp("images")
    build = Store(folder)
    debian = folder / "debian"
    address, suite = apt_mirror()
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, debian, address)
    # As in the images of Python: a program `python`, whose packages pip may change.
    (debian / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for mark in (debian / "usr/lib").glob("python3*/EXTERNALLY-MANAGED"):
        mark.unlink()
    # Packages may come from a mirror that is known to this machine only.
    trusted = Path("etc/ssl/certs/ca-certificates.crt")
    shutil.copy(Path("/", trusted), debian / trusted)
    container = build("from", "scratch")
    build("copy", "--quiet", container, debian, "/")
    build("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", container)
    build("commit", "--quiet", "--rm", container, BASE)
    shutil.rmtree(debian)
    build("bud", "--isolation=chroot", "--format=docker", "--pull-never",
          f"--build-arg=BUILD_IMAGE={BASE}", f"--build-arg=RUN_IMAGE={BASE}",
          f"--file={DOCKERFILE}", f"--tag={IMAGE}", ROOT)  # fmt: skip
    yield build
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def image(store: Store) -> Path:
    """The files of the image."""
    return Path(store("mount", store("from", IMAGE)))


class Container:
    """A service of compose.yml, with its image, command, mounts and user."""

    def __init__(self, image: Path, folder: Path, name: str, port: int) -> None:
        self.name = name
        self._image, self._folder = image, folder
        self._service, self._port = services()[name], port

    def command(self, *words: str) -> list[str]:
        """The command that runs `words` in it."""
        binds: list[str] = []
        for source, target, read_only in mounts(self._service):
            place = (
                mounted(self._service, target) if source.startswith(".") else self._volume(source)
            )
            if place.is_file():
                # A folder is mounted, for a file has no place to be mounted on in the image.
                copy = self._folder / f"{self.name}-files"
                copy.mkdir(exist_ok=True)
                shutil.copy(place, copy)
                place, target = copy, str(Path(target).parent)
            binds += [str(place), target, "ro" if read_only else "rw"]
        changed = [word.replace("19703", str(self._port)) for word in words]
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", STEPS, "sh",
                str(self._image), self._service["user"], *binds, "--", *changed]  # fmt: skip

    def _volume(self, name: str) -> Path:
        """A volume belongs to who owns the folder of the image that it is mounted on."""
        volume = self._folder / name
        if not volume.exists():
            volume.mkdir()
            owner = (self._image / "var/lib/esewatch").stat()
            os.chown(volume, owner.st_uid, owner.st_gid)
        return volume

    @contextmanager
    def started(self) -> Iterator[Server]:
        """Start it as compose.yml says; it is stopped at the end, and must end well."""
        log = self._folder / f"{self.name}.log"
        command = self.command("esewatch", *self._service["command"])
        server = Server(command, f"http://127.0.0.1:{self._port}", log)
        with ended(server):
            yield server
            assert server.stop() == 0, log.read_text()[-2000:]

    def healthy(self, command: list[str] | None = None) -> bool:
        """What its health check says, or another one."""
        words = command or self._service["healthcheck"]["test"][1:]
        return (
            subprocess.run(self.command(*words), capture_output=True, check=False).returncode == 0
        )


def test_the_image_is_what_the_dockerfile_says(store: Store, image: Path) -> None:
    config = json.loads(store("inspect", "--type=image", IMAGE))["Docker"]["config"]
    kernel = "from esefiles.pages import kernels; print(kernels.NAME)"

    assert config["User"] == "19703:19703"
    assert config["Entrypoint"] == ["esewatch"]
    assert config["Healthcheck"]["Test"] == ["CMD", *health_command()]
    assert config["Labels"]["org.opencontainers.image.title"] == "esewatch"
    assert run("chroot", image, "/opt/esewatch/bin/python", "-c", kernel) == "compiled\n"
    assert run("chroot", image, "/opt/esewatch/bin/esewatch", "--version").startswith("esewatch ")
    assert not (image / "opt/esewatch/bin/pip").exists()
    assert not list(image.glob("build"))


def test_the_stack_works_from_the_image_and_an_alert_reaches_alertmanager(
    image: Path, tmp_path: Path
) -> None:
    port = free_port()
    engine, agent = (Container(image, tmp_path, name, port) for name in ("engine", "agent"))
    write = "open('/opt/esewatch/written', 'w')"
    with ExitStack() as stack:
        stack.enter_context(engine.started())
        wait_for("the engine is healthy", engine.healthy)
        served = stack.enter_context(agent.started())
        wait_for("the agent is healthy", agent.healthy)
        prometheus, alerts = start_watchers(stack, tmp_path, port)

        def arrived() -> bool:
            found = json.loads(get(f"{alerts.url}/api/v2/alerts"))
            return "EseKnownBadPage" in {each["labels"]["alertname"] for each in found}

        wait_for("the alert of the bad page", arrived)
        assert "ese_database_info{" in get(f"{served.url}/metrics")
        assert agent.healthy(health_command())
        check_health_of_alertmanager(alerts.url)
        assert not agent.healthy(["python", "-c", write])
        assert not agent.healthy(["python", "-c", "open('/srv/ese-logs/server/x', 'w')"])
        assert prometheus.rule_errors() == []


def check_health_of_alertmanager(url: str) -> None:
    """What its health check runs, by the amtool of Debian."""
    _, program, *words = services()["alertmanager"]["healthcheck"]["test"]
    asked = [word.replace("http://127.0.0.1:9093", url) for word in words]
    assert url in " ".join(asked)
    run(require(program), *asked)


def start_watchers(stack: ExitStack, folder: Path, port: int) -> tuple[Prometheus, Server]:
    """Prometheus and Alertmanager of Debian with the files of the stack and other addresses."""
    target, own = (free_address() for _ in range(2))
    service = services()["prometheus"]
    config = yaml.safe_load(mounted(service, option(service, "config.file")).read_text())
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{port}"]
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [target]
    for name in ("rules", "alerts"):
        (folder / name).symlink_to(mounted(service, f"/etc/prometheus/{name}"))
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    prometheus = Prometheus(
        [require("prometheus"), f"--config.file={folder / 'prometheus.yml'}",
         f"--storage.tsdb.path={folder / 'prometheus'}", f"--web.listen-address={own}"],
        f"http://{own}", folder / "prometheus.log",
    )  # fmt: skip
    stack.enter_context(ended(prometheus))
    service = services()["alertmanager"]
    alertmanager = Server(
        [require("alertmanager"),
         f"--config.file={mounted(service, option(service, 'config.file'))}",
         f"--storage.path={folder / 'alertmanager'}", f"--web.listen-address={target}",
         "--cluster.listen-address="],
        f"http://{target}", folder / "alertmanager.log",
    )  # fmt: skip
    stack.enter_context(ended(alertmanager))
    for server in (prometheus, alertmanager):
        server.wait_until_ready("/-/ready")
    return prometheus, alertmanager
