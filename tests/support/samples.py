"""Real sample data that stands beside a developer's checkout and not in a user's clone."""

import gzip
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3] / "shared" / "samples"


def sample(name: str) -> Path:
    """Path of the sample `name`; skips the test where the samples are absent."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"sample data {name} is not beside this checkout")
    return path


def unpacked(name: str, folder: Path) -> Path:
    """A copy of the packed sample `name` (.gz) in `folder`; skips like `sample`."""
    path = sample(name)
    copy = folder / path.stem
    copy.write_bytes(gzip.decompress(path.read_bytes()))
    return copy
