"""The wheels with the compiled kernel, for Linux and Windows, built on Linux by `zig cc`.

`python -m scripts.wheels [PLATFORM ...]` writes them into dist/: all of them, else those named by
the platform tag of the wheel. `any` has no kernel; pip takes it where no other fits, and checksums
are computed in Python. The same commit gives the same bytes.
"""

import base64
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("agent", "esefiles", "pages", "_kernel.c")
PARTS = ROOT / "deploy" / "kernel"


class Machine(NamedTuple):
    """The names of a platform in zig and in dlltool, and of its extension modules."""

    target: str
    module: str
    dlltool: str = ""
    """Empty where an extension links nothing of Python."""


MACHINES = {
    "manylinux_2_17_aarch64": Machine("aarch64-linux-gnu.2.17", "_kernel.abi3.so"),
    "manylinux_2_17_x86_64": Machine("x86_64-linux-gnu.2.17", "_kernel.abi3.so"),
    "win_amd64": Machine("x86_64-windows-gnu", "_kernel.pyd", "i386:x86-64"),
    "win_arm64": Machine("aarch64-windows-gnu", "_kernel.pyd", "arm64"),
}
ANY = "any"
PLATFORMS = (*sorted(MACHINES), ANY)


def zig(*words: str | Path) -> None:
    """Run zig, which `pip install ziglang` brings. Raises CalledProcessError."""
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, words)], check=True)


def kernel(machine: Machine, folder: Path, when: int) -> bytes:
    """The compiled kernel, dated `when`; `folder` is empty and takes what it is made of."""
    include = Path(sysconfig.get_path("include"))
    shutil.copytree(include, folder / "include")
    # Python.h looks beside itself first, before any folder of the machine it was installed for.
    shutil.copy(PARTS / "pyconfig.h", folder / "include")
    kind = "-fno-stack-protector" if machine.dlltool else "-fPIC"
    compiled = ("-target", machine.target, "-O3", "-g0", kind, "-c")
    limited = ("-DPy_LIMITED_API=0x030B0000", "-Wall", "-Wextra", "-Werror")
    paths = (f"-ffile-prefix-map={ROOT}=.", f"-I{folder / 'include'}")
    made = folder / machine.module
    link = ("cc", "-target", machine.target, "-s", "-shared", folder / "kernel.o", "-o", made)
    zig("cc", *compiled, "-o", folder / "kernel.o", *limited, *paths, ROOT / SOURCE)
    if not machine.dlltool:
        zig(*link)
        return made.read_bytes()
    zig("cc", *compiled, "-o", folder / "start.o", PARTS / "start.c")
    library = folder / "python3.lib"
    zig("dlltool", "-d", PARTS / "python3.def", "-m", machine.dlltool, "-l", library)
    zig(*link, "-nostdlib", folder / "start.o", library)
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


def wheel_for(platform: str, plain: Path, library: bytes | None, when: int, to: Path) -> Path:
    """`plain` with `library` as its kernel, None for none, under the tag of the platform."""
    with zipfile.ZipFile(plain) as before:
        files = {
            name: before.read(name)
            for name in before.namelist()
            if not name.endswith((".so", "/", "RECORD"))
        }
        (record,) = (name for name in before.namelist() if name.endswith(".dist-info/RECORD"))
    about = str(Path(record).with_name("WHEEL"))
    own = ("Tag: ", "Root-Is-Purelib: ")
    lines = [
        each for each in files[about].decode().splitlines() if each and not each.startswith(own)
    ]
    tag = f"py3-none-{platform}" if library is None else f"cp311-abi3-{platform}"
    lines += [f"Root-Is-Purelib: {str(library is None).lower()}", f"Tag: {tag}", ""]
    files[about] = "\n".join(lines).encode()
    if library is not None:
        files[f"esefiles/pages/{MACHINES[platform].module}"] = library
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


def released() -> str:
    """The version that the sources say."""
    about = (ROOT / "agent" / "esefiles" / "__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.*)"$', about, re.MULTILINE)
    return str(found)


def commit_time() -> int:
    """When what is built was committed, or SOURCE_DATE_EPOCH."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, check=True
    )
    return int(said.stdout)


def build(platforms: Sequence[str], to: Path) -> list[Path]:
    """Build the wheels into the folder `to`. Raises CalledProcessError, OSError."""
    to.mkdir(parents=True, exist_ok=True)
    when = commit_time()
    made = []
    with tempfile.TemporaryDirectory() as work:
        plain = plain_wheel(Path(work))
        for platform in platforms:
            folder = Path(work, platform)
            folder.mkdir()
            library = None if platform == ANY else kernel(MACHINES[platform], folder, when)
            made.append(wheel_for(platform, plain, library, when, to))
    return made


if __name__ == "__main__":
    for wheel in build(sys.argv[1:] or PLATFORMS, ROOT / "dist"):
        sys.stdout.write(f"{wheel.relative_to(ROOT)}\n")
