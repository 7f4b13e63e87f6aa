"""What is installed: with a C compiler, and without one."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.kernels import compiled_kernel

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("agent", "docs/runbooks", "pyproject.toml", "setup.py", "README.md", "LICENSE")


def built_wheel(folder: Path, compiler: str | None) -> set[str]:
    """Names in the wheel that is built of a copy of the sources in `folder`."""
    ignore = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    for part in PARTS:
        source, copy = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, copy, ignore=ignore)
        else:
            shutil.copyfile(source, copy)
    environment = {name: value for name, value in os.environ.items() if name != "CC"}
    if compiler is not None:
        environment["CC"] = compiler
    ended = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", str(folder / "wheels"), str(folder)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    [wheel] = (folder / "wheels").iterdir()
    return set(zipfile.ZipFile(wheel).namelist())


def expected(folder: str, pattern: str, installed: str) -> set[str]:
    base = ROOT / folder
    return {f"{installed}/{path.relative_to(base).as_posix()}" for path in base.rglob(pattern)}


@pytest.mark.parametrize(
    "compiler", [None, pytest.param("/nonexistent/cc", marks=pytest.mark.slow)]
)
def test_a_wheel_holds_the_whole_package_and_the_kernel_where_it_can_be_compiled(
    tmp_path: Path, compiler: str | None
) -> None:
    if compiler is None:
        compiled_kernel()
    names = built_wheel(tmp_path, compiler)
    kernels = {name for name in names if name.endswith((".so", ".pyd", ".c"))}

    assert kernels == (set() if compiler else {"esefiles/pages/_kernel.abi3.so"})
    for package in ("esewatch", "esefiles", "eselab"):
        assert names >= expected(f"agent/{package}", "*.py", package)
        assert names >= expected(f"agent/{package}", "*.j2", package)
    assert names >= expected("docs/runbooks", "*.md", "esewatch/_runbooks")
    assert names >= {
        "esewatch/py.typed",
        "esefiles/py.typed",
        "eselab/py.typed",
        "esefiles/pages/_kernel.pyi",
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "bench", "docs")) for name in names)
