"""The wheels: what is in them, and that a kernel says where it belongs what ours says here."""

import gzip
import importlib.util
import json
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from esefiles.pages.layout import PAGE_SIZES
from scripts import wheels as build
from tests.support.figures import record
from tests.support.kernels import compiled_kernel
from tests.support.obvious_checksum import seal
from tests.support.samples import ROOT as SAMPLES
from tests.support.tools import skip
from tests.support.wine import Wine, installed, windows_path

ROOT = Path(__file__).resolve().parents[2]
MACHINE_CODES = {"win_amd64": 0x8664, "win_arm64": 0xAA64}
ELF_MACHINES = {"manylinux_2_17_x86_64": 62, "manylinux_2_17_aarch64": 183}
CHECK = Path(__file__).with_name("kernel_check.py")
SHARING_CHECK = Path(__file__).with_name("sharing_check.py")


@pytest.fixture(name="wheels", scope="module")
def _wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if importlib.util.find_spec("ziglang") is None:
        skip("ziglang is not installed (pip install -r requirements/wheels.lock)", {"ziglang"})
    made = build.build(build.PLATFORMS, tmp_path_factory.mktemp("dist"))
    return dict(zip(build.PLATFORMS, made, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("platform", sorted(MACHINE_CODES))
def test_a_wheel_has_the_kernel_of_its_processor_and_no_other(
    wheels: dict[str, Path], platform: str
) -> None:
    with zipfile.ZipFile(wheels[platform]) as wheel:
        names = wheel.namelist()
        library = wheel.read("esefiles/pages/_kernel.pyd")
        about = wheel.read(next(name for name in names if name.endswith("/WHEEL"))).decode()
    header = struct.unpack_from("<I", library, 0x3C)[0]

    assert wheels[platform].name.endswith(f"-cp311-abi3-{platform}.whl")
    assert f"Tag: cp311-abi3-{platform}\n" in about
    assert struct.unpack_from("<4sH", library, header) == (b"PE\0\0", MACHINE_CODES[platform])
    assert [name for name in names if name.endswith((".so", ".pyd"))] == [
        "esefiles/pages/_kernel.pyd"
    ]
    assert "esewatch/_runbooks/EseKnownBadPage.md" in names


@pytest.mark.slow
@pytest.mark.parametrize("platform", sorted(ELF_MACHINES))
def test_a_wheel_for_linux_has_the_kernel_of_its_processor_and_needs_no_newer_library(
    wheels: dict[str, Path], platform: str
) -> None:
    with zipfile.ZipFile(wheels[platform]) as wheel:
        library = wheel.read("esefiles/pages/_kernel.abi3.so")
    needed = {
        tuple(map(int, each.split(b"."))) for each in re.findall(rb"GLIBC_([0-9.]+)", library)
    }

    assert wheels[platform].name.endswith(f"-cp311-abi3-{platform}.whl")
    assert struct.unpack_from("<4s14xH", library) == (b"\x7fELF", ELF_MACHINES[platform])
    assert max(needed, default=(2, 17)) <= (2, 17)
    assert str(ROOT).encode() not in library


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "kernel"), [("manylinux_2_17_x86_64", "compiled"), ("any", "python")]
)
def test_a_wheel_brings_its_kernel_to_a_fresh_environment(
    wheels: dict[str, Path], platform: str, kernel: str, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "fresh"], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([python, *install, wheels[platform]], check=True)

    command = [str(python.with_name("esewatch")), "--version"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert said.stdout.endswith(f"({kernel} kernel)\n")


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes(wheels: dict[str, Path], tmp_path: Path) -> None:
    for again in build.build(["win_amd64", "manylinux_2_17_x86_64", "any"], tmp_path):
        (first,) = (each for each in wheels.values() if each.name == again.name)
        assert again.read_bytes() == first.read_bytes()


def test_a_library_is_dated_by_the_commit() -> None:
    library = bytearray(256)
    struct.pack_into("<I", library, 0x3C, 128)

    assert struct.unpack_from("<I", build.dated(bytes(library), 77), 136) == (77,)


@pytest.fixture(name="wine", scope="module")
def _wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wine]:
    wine = Wine(tmp_path_factory.mktemp("wine"))
    yield wine
    wine.close()


def pages(folder: Path) -> None:
    """Files NAME.SIZE.FIRST: pages of every size sealed and damaged, and the samples."""
    folder.mkdir()
    chance = random.Random(27)
    for size in PAGE_SIZES:
        sealed = seal(chance.randbytes(size), 7)
        (folder / f"sealed.{size}.7").write_bytes(sealed)
        mixed = [seal(chance.randbytes(size), number, old=size <= 8192) for number in range(40)]
        mixed[::7] = [bytes(size)] * len(mixed[::7])
        mixed[1::7] = [chance.randbytes(size) for _ in mixed[1::7]]
        (folder / f"mixed.{size}.0").write_bytes(b"".join(mixed))
    for file in sorted(SAMPLES.glob("db/*.gz")):
        data = gzip.decompress(file.read_bytes())
        (folder / f"{file.stem}.{struct.unpack_from('<I', data, 236)[0] or 4096}.-1").write_bytes(
            data
        )


@pytest.mark.slow
def test_the_kernel_says_under_wine_what_it_says_here_by_each_machine_code(
    wheels: dict[str, Path], wine: Wine, tmp_path: Path
) -> None:
    compiled_kernel()
    folder = tmp_path / "pages"
    pages(folder)
    python = installed(tmp_path / "python", [wheels["win_amd64"]])

    there = json.loads(wine.run(python, windows_path(CHECK), windows_path(folder)))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agent")}
    here = json.loads(
        subprocess.run(
            [sys.executable, CHECK, folder],
            env=environment, capture_output=True, check=True,
        ).stdout
    )  # fmt: skip

    assert {code: found["classes"] for code, found in there.items()} == {
        code: found["classes"] for code, found in here.items()
    }
    for found in there.values():
        for size in PAGE_SIZES:
            # Of a page with one bit flipped none is taken for what the page itself is: good.
            assert found["classes"][f"sealed.{size}.7, flipped"] == f"1 of {size * 8 + 1}"
    speeds = [
        f"{found['gb_a_second']} under wine, {here[code]['gb_a_second']} on Linux"
        for code, found in there.items()
    ]
    record(
        "kernel, GB/s of 32 KiB pages in the cache: any x86-64, AVX2, AVX-512", "; ".join(speeds)
    )


@pytest.mark.slow
def test_what_is_read_under_wine_can_be_renamed_and_deleted_and_what_is_held_is_called_so(
    wheels: dict[str, Path], wine: Wine, tmp_path: Path
) -> None:
    python = installed(tmp_path / "python", [wheels["win_amd64"]])
    folder = tmp_path / "files"
    folder.mkdir()

    found = json.loads(wine.run(python, windows_path(SHARING_CHECK), windows_path(folder)))

    assert found == {
        "read": "one\r\n\x1atwo",
        "rename": "done",
        "read on": "three",
        "delete": "done",
        "held": "held.edb: in use by another program: scan a snapshot of it",
        "absent": "absent.edb: no such file: is the path right, and its volume mounted?",
        "a folder": f"{folder.name}: no permission to read it: "
        "run this as a user who may (it is never written)",
    }
