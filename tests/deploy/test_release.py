"""What is released: built twice, listed, and what keeps a part from being built."""

import hashlib
import json
import os
import re
import tarfile
from pathlib import Path

import pytest

from scripts import bill_of_materials, release
from tests.deploy.debian_package import clone

ROOT = Path(__file__).resolve().parents[2]


def test_an_archive_follows_from_its_files_and_the_time_of_the_commit(tmp_path: Path) -> None:
    files = {"a/two": b"2", "a/one": b"1"}
    for name, of in (("one.tgz", files), ("two.tgz", dict(reversed(files.items())))):
        release.write_tar(tmp_path / name, of, 77)

    assert (tmp_path / "one.tgz").read_bytes() == (tmp_path / "two.tgz").read_bytes()
    with tarfile.open(tmp_path / "one.tgz") as opened:
        assert [(each.name, each.mtime, each.uid) for each in opened] == [
            ("a/one", 77, 0),
            ("a/two", 77, 0),
        ]
    with pytest.raises(release.ReleaseError, match=r"^empty\.tgz would be empty$"):
        release.write_tar(tmp_path / "empty.tgz", {}, 77)


def test_a_part_that_cannot_be_built_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("PYTHON_ZIP", raising=False)
    monkeypatch.setenv("PYTHON_SHA256", "0" * 64)
    lacks = {part.what: release.missing(part) for part in release.PARTS}

    assert lacks["the MSI"] == (
        "wixl, msibuild is not installed (wixl msitools); PYTHON_ZIP is not set"
    )
    assert lacks["the Helm chart"] == ""


def test_the_bill_of_materials_has_the_packages_of_the_lock_and_the_hashes_of_their_wheels() -> (
    None
):
    lock = (ROOT / "requirements" / "runtime.lock").read_text(encoding="utf-8")
    parts = list(bill_of_materials.of_lock(lock))
    bill = json.loads(bill_of_materials.bill("1.2.3", parts, 0))

    assert {each["name"]: each["version"] for each in bill["components"]} == dict(
        re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)
    )
    assert sum(len(each["hashes"]) for each in bill["components"]) == lock.count("--hash=sha256:")
    assert bill["metadata"] == {
        "timestamp": "1970-01-01T00:00:00Z",
        "component": {"type": "application", "name": "esewatch", "version": "1.2.3"},
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_commit_is_built_twice_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "ROOT", clone(tmp_path / "clone"))
    to = tmp_path / "release"

    said = list(release.release(to))

    told = [line for line in said if "bytes" in line]
    assert told, said
    assert all(line.endswith("bytes, the same twice") for line in told), said
    lines = (to / release.SUMS).read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert sums == {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in to.iterdir()
        if each.name != release.SUMS
    }
    assert len(told) == len(sums) >= 5 + 4
    with pytest.raises(release.ReleaseError, match=r"^the checkout has changes: commit them first"):
        (tmp_path / "clone" / "README.md").write_text("changed")
        next(release.release(to))
