"""What several workers of a test run need, each made by the first that asks."""

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.run_folder import RUN, run_folder

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of that name, which `make` has filled; who asks meanwhile waits."""
    return _once(run_folder(factory), name, make)


def value_made_once(name: str, make: Callable[[], T]) -> T:
    """What `make` gave to the first that asked for it; where no tests run, what it gives now."""
    if RUN not in os.environ:
        return make()
    name = f"value-{sha256(name.encode()).hexdigest()[:16]}"
    folder = _once(
        Path(os.environ[RUN]), name, lambda to: (to / "value").write_bytes(pickle.dumps(make()))
    )
    found: T = pickle.loads((folder / "value").read_bytes())
    return found


def _once(root: Path, name: str, make: Callable[[Path], object]) -> Path:
    folder, done = root / name, root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
