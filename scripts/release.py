"""All that is released, built from a commit: `python -m scripts.release [FOLDER]`.

The commit is cloned twice, into folders with names of other lengths, and all is built in both. The
bytes are equal, or what differs is listed with the reason. What this machine cannot build is listed
with what it lacks. FOLDER is dist/release where none is named. Nothing is uploaded.
"""

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
MIXIN = (
    *("rules/*.yml", "rules/site/*", "alerts/*.yml", "alerts/alertmanager/*"),
    "dashboards/*.json",
)
CHART = "deploy/helm/esewatch"
MKDOCS = "out/site-tools/bin/mkdocs"
BASES = ("BUILD_IMAGE", "RUN_IMAGE")
"""The images that ours is made of, with their digests: a tag may move."""


class ReleaseError(Exception):
    """Why nothing is released, in one line."""


class Part(NamedTuple):
    """One part of a release."""

    what: str
    build: Callable[[Path, Path], None]
    """Takes a clone of the commit and the folder that the part is put into."""
    package: str = ""
    """What brings the programs that it needs."""
    programs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    """Of the environment, without which it is not built."""


def run(clone: Path, *command: str | Path, **environment: str) -> None:
    """Run a command in the clone. Raises ReleaseError with the end of what it wrote."""
    done = subprocess.run(
        [*map(str, command)], cwd=clone, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        words = " ".join(map(str, command))
        raise ReleaseError(f"{words}: status {done.returncode}\n{done.stdout[-3000:]}")


def python(clone: Path, module: str, *words: str | Path) -> None:
    """Run a module of the clone by the Python that runs this."""
    paths = os.pathsep.join([str(clone / "agent"), str(clone)])
    run(clone, sys.executable, "-m", module, *words, PYTHONPATH=paths)


def moved(clone: Path, pattern: str, to: Path) -> None:
    """Take what was built in the clone."""
    found = sorted(clone.glob(pattern))
    if not found:
        raise ReleaseError(f"{pattern} was not built")
    for each in found:
        shutil.move(each, to / each.name)


def wheels(clone: Path, to: Path) -> None:
    python(clone, "scripts.wheels")
    moved(clone, "dist/*.whl", to)


def debian_package(clone: Path, to: Path) -> None:
    run(clone, "scripts/deb", DEB_VERSION=version(clone))
    moved(clone, "dist/*.deb", to)


def msi(clone: Path, to: Path) -> None:
    archive = Path(os.environ["PYTHON_ZIP"]).absolute()
    python(clone, "scripts.windows_msi", archive, os.environ["PYTHON_SHA256"])
    moved(clone, "dist/*.msi", to)


def chart(clone: Path, to: Path) -> None:
    """As `helm package` writes it: the files below the name of the chart."""
    files = {f"esewatch/{name}": data for name, data in below(clone / CHART, "**/*")}
    write_tar(to / f"esewatch-{version(clone)}.tgz", files, time_of(clone))


def mixin(clone: Path, to: Path) -> None:
    """Rules, alerts and dashboards as they are shipped, and what makes those of one site."""
    name = f"esewatch-mixin-{version(clone)}"
    files = {f"{name}/{path}": data for pattern in MIXIN for path, data in below(clone, pattern)}
    write_tar(to / f"{name}.tar.gz", files, time_of(clone))


def site(clone: Path, to: Path) -> None:
    when = {"SOURCE_DATE_EPOCH": str(time_of(clone)), "NO_MKDOCS_2_WARNING": "1"}
    run(clone, ROOT / MKDOCS, "build", "--quiet", "--strict", **when)
    name = f"esewatch-docs-{version(clone)}"
    files = {f"{name}/{path}": data for path, data in below(clone / "out" / "site", "**/*")}
    write_tar(to / f"{name}.tar.gz", files, time_of(clone))


def image(clone: Path, to: Path) -> None:
    name = f"esewatch-image-{version(clone)}"
    store = [f"--{each}={clone / 'out' / 'images' / each}" for each in ("root", "runroot")]
    buildah = ("buildah", "--storage-driver=vfs", *store)
    run(
        clone, *buildah, "bud", "--isolation=chroot", "--format=docker",
        f"--timestamp={time_of(clone)}", "--file=deploy/container/Dockerfile", f"--tag={name}",
        *(f"--build-arg={each}={os.environ[each]}" for each in BASES),
        f"--build-arg=VERSION={version(clone)}", f"--build-arg=REVISION={revision(clone)}", ".",
    )  # fmt: skip
    run(clone, *buildah, "push", name, f"docker-archive:{to / name}.tar")


def bill(clone: Path, to: Path) -> None:
    """What is installed at run time, as CycloneDX, by the hashes of the lock."""
    python(clone, "scripts.bill_of_materials", to / f"esewatch-{version(clone)}.cdx.json")


PARTS = (
    Part("the wheels", wheels, "ziglang"),
    Part("the Debian package", debian_package, "dpkg-dev", ("dpkg-deb",)),
    Part("the MSI", msi, "wixl msitools", ("wixl", "msibuild"), ("PYTHON_ZIP", "PYTHON_SHA256")),
    Part("the Helm chart", chart),
    Part("the image", image, "buildah", ("buildah",), BASES),
    Part("rules, alerts and dashboards", mixin),
    Part("the guide as a site", site),
    Part("the bill of materials", bill),
)
UNEQUAL: dict[str, str] = {}
"""How the names of parts end that no two builds have equal, and why."""


def missing(part: Part) -> str:
    """What keeps the part from being built here; empty for nothing."""
    programs = [each for each in part.programs if shutil.which(each) is None]
    unset = [each for each in part.variables if not os.environ.get(each)]
    said = [f"{', '.join(programs)} is not installed ({part.package})"] if programs else []
    return "; ".join([*said, *([f"{', '.join(unset)} is not set"] if unset else [])])


def version(clone: Path) -> str:
    text = (clone / "agent" / "esefiles" / "__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    return str(found)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def revision(clone: Path) -> str:
    return git(clone, "rev-parse", "HEAD")


def time_of(clone: Path) -> int:
    """When the commit was made, in epoch seconds."""
    return int(git(clone, "log", "-1", "--format=%ct"))


def below(folder: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The files that fit the pattern, sorted: path below the folder, and content."""
    for path in sorted(folder.glob(pattern)):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def write_tar(path: Path, files: Mapping[str, bytes], when: int) -> None:
    """A compressed archive whose bytes follow from `files` and `when` alone."""
    if not files:
        raise ReleaseError(f"{path.name} would be empty")
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), when, 0o644
            out.addfile(entry, io.BytesIO(files[name]))


def cloned(commit: str, folder: Path) -> Path:
    """The folder as a clone of the commit, with the environment of the checkout."""
    git(ROOT, "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder))
    git(folder, "checkout", "--quiet", "--detach", commit)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def built(commit: str, clone: Path, parts: Sequence[Part]) -> dict[str, Path]:
    """The files of one build, by name."""
    cloned(commit, clone)
    to = clone.with_name(f"{clone.name}-files")
    to.mkdir()
    for part in parts:
        part.build(clone, to)
    return {each.name: each for each in sorted(to.iterdir())}


def digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def release(to: Path) -> Iterator[str]:
    """Build all parts into the folder `to`, and tell of each. Raises ReleaseError, OSError."""
    if changed := git(ROOT, "status", "--porcelain"):
        raise ReleaseError(f"the checkout has changes: commit them first\n{changed}")
    commit = revision(ROOT)
    lacks = {part.what: missing(part) for part in PARTS}
    parts = [part for part in PARTS if not lacks[part.what]]
    with tempfile.TemporaryDirectory() as work:
        # Paths of other lengths: no part may contain where it was built.
        first, second = (built(commit, Path(work, name), parts) for name in ("a", "another"))
        sums = {name: digest(path) for name, path in first.items()}
        unequal = [name for name in sums if sums[name] != digest(second[name])]
        reasons = {
            name: why for name in unequal for end, why in UNEQUAL.items() if name.endswith(end)
        }
        if others := [name for name in unequal if name not in reasons]:
            raise ReleaseError(f"two builds differ in {', '.join(others)}")
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for name, path in first.items():
            shutil.move(path, to / name)
            same = f"not the same twice: {reasons[name]}" if name in reasons else "the same twice"
            yield f"{name}: {(to / name).stat().st_size:,} bytes, {same}"
    lines = [f"{sums[name]}  {name}\n" for name in sorted(sums)]
    (to / SUMS).write_text("".join(lines), encoding="ascii")
    yield f"{SUMS}: check them with `sha256sum --check {SUMS}`"
    yield from (f"not built: {what}: {why}" for what, why in lacks.items() if why)


if __name__ == "__main__":
    try:
        for line in release(Path(*sys.argv[1:]) if sys.argv[1:] else ROOT / "dist" / "release"):
            sys.stdout.write(f"{line}\n")
    except (ReleaseError, OSError) as error:
        sys.exit(f"release: {error}")
