"""The wheel for Windows with the compiled kernel, built on Linux by `zig cc`.

`python -m scripts.windows_wheel [amd64|arm64 ...]` writes them into dist/.
The same commit gives the same bytes.
"""

import base64
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("agent", "esefiles", "pages", "_kernel.c")
PARTS = ROOT / "deploy" / "windows" / "kernel"


class Machine(NamedTuple):
    """How a kind of processor is called by the compiler, and by dlltool."""

    target: str
    dlltool: str


MACHINES = {
    "amd64": Machine("x86_64-windows-gnu", "i386:x86-64"),
    "arm64": Machine("aarch64-windows-gnu", "arm64"),
}


def zig(*words: str | Path) -> None:
    """Run zig, which `pip install ziglang` brings. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, words)], check=True)


def kernel(machine: Machine, folder: Path, when: int) -> bytes:
    """The compiled kernel, dated `when`; `folder` is empty and takes what it is made of."""
    include = Path(sysconfig.get_path("include"))
    shutil.copytree(include, folder / "include")
    # Python.h looks beside itself first, before any folder of the machine it was installed for.
    shutil.copy(PARTS / "pyconfig.h", folder / "include")
    compiled = ("-target", machine.target, "-O3", "-g0", "-fno-stack-protector", "-c", "-o")
    zig("cc", *compiled, folder / "start.o", PARTS / "start.c")
    limited = ("-DPy_LIMITED_API=0x030B0000", "-Wall", "-Wextra", "-Werror")
    prefix = f"-ffile-prefix-map={ROOT}=."
    zig(
        "cc",
        *compiled,
        folder / "kernel.o",
        *limited,
        prefix,
        f"-I{folder / 'include'}",
        ROOT / SOURCE,
    )
    library = folder / "python3.lib"
    zig("dlltool", "-d", PARTS / "python3.def", "-m", machine.dlltool, "-l", library)
    made = folder / "_kernel.pyd"
    parts = (folder / "kernel.o", folder / "start.o", library)
    zig("cc", "-target", machine.target, "-s", "-shared", "-nostdlib", *parts, "-o", made)
    return dated(made.read_bytes(), when)


def dated(library: bytes, when: int) -> bytes:
    """A library for Windows with `when` as the time it was linked at."""
    header = struct.unpack_from("<I", library, 0x3C)[0]
    changed = bytearray(library)
    struct.pack_into("<I", changed, header + 8, when)
    return bytes(changed)


def plain_wheel(folder: Path) -> Path:
    """The wheel as setuptools makes it here, without a kernel."""
    # `false` is a compiler that compiles nothing: the kernel is optional.
    environment = {**os.environ, "CC": "false"}
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sources(folder)],
        env=environment, check=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return wheel


def sources(folder: Path) -> Path:
    """A copy of what git knows, and what it does not know yet; nothing that was built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    copy = folder / "sources"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    return copy


def windows_wheel(plain: Path, library: bytes, platform: str, when: int, to: Path) -> Path:
    """`plain` with `library` as its kernel, for Windows on `platform`."""
    with zipfile.ZipFile(plain) as before:
        files = {
            name: before.read(name)
            for name in before.namelist()
            if not name.endswith((".so", "/", "RECORD"))
        }
        (record,) = (name for name in before.namelist() if name.endswith(".dist-info/RECORD"))
    about = str(Path(record).with_name("WHEEL"))
    lines = files[about].decode().splitlines()
    kept = [line for line in lines if line and not line.startswith("Tag: ")]
    tag = f"cp311-abi3-win_{platform}"
    files[about] = "\n".join([*kept, f"Tag: {tag}", ""]).encode()
    files["esefiles/pages/_kernel.pyd"] = library
    files[record] = recorded(files, record)
    made = to / f"{plain.name.split('-cp311-')[0]}-{tag}.whl"
    write_zip(made, files, when)
    return made


def recorded(files: dict[str, bytes], record: str) -> bytes:
    """RECORD of a wheel: each file, its hash and its size."""
    rows = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(files[name])}\n")
    return "".join([*rows, f"{record},,\n"]).encode()


def write_zip(path: Path, files: dict[str, bytes], when: int) -> None:
    """A zip whose bytes follow from `files` and `when` alone."""
    date = time.gmtime(when)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            out.writestr(entry, files[name])


def commit_time() -> int:
    """When what is built was committed, or SOURCE_DATE_EPOCH."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, check=True
    )
    return int(said.stdout)


def build(platforms: list[str], to: Path) -> list[Path]:
    """Build the wheels into the folder `to`. Raises CalledProcessError, OSError."""
    to.mkdir(parents=True, exist_ok=True)
    when = commit_time()
    made = []
    with tempfile.TemporaryDirectory() as work:
        plain = plain_wheel(Path(work))
        for platform in platforms:
            folder = Path(work, platform)
            folder.mkdir()
            library = kernel(MACHINES[platform], folder, when)
            made.append(windows_wheel(plain, library, platform, when, to))
    return made


if __name__ == "__main__":
    for wheel in build(sys.argv[1:] or sorted(MACHINES), ROOT / "dist"):
        sys.stdout.write(f"{wheel.relative_to(ROOT)}\n")
