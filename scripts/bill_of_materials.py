"""The bill of materials, as CycloneDX 1.5: `python -m scripts.bill_of_materials FILE`.

FILE gets what `requirements/runtime.lock` installs. The same commit gives the same bytes.
"""

import hashlib
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email import message_from_string
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from scripts.wheels import ROOT, commit_time, released

SPACE = uuid.UUID("4e60a3a6-2c5c-5c56-8f0b-0b8f2c9d7a11")
Component = dict[str, object]


def bill(version: str, parts: Sequence[Component], when: int) -> bytes:
    """What is in esewatch of this version, dated `when`."""
    serial = uuid.uuid5(SPACE, json.dumps(parts))
    found = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{serial}",
        "metadata": {
            "timestamp": f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "component": {"type": "application", "name": "esewatch", "version": version},
        },
        "components": parts,
    }  # fmt: skip
    return (json.dumps(found, indent=1) + "\n").encode()


def of_wheel(wheel: Path) -> Component:
    """A package that comes as this wheel."""
    name, number = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as opened:
        (about,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        text = opened.read(about).decode()
    return _component(
        name.replace("_", "-").lower(),
        number,
        [hashlib.sha256(wheel.read_bytes()).hexdigest()],
        _licence(text),
    )


def of_lock(lock: str) -> Iterator[Component]:
    """The packages of a lock with the hashes of all their wheels; licences of those installed."""
    for name, number, rest in re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)+.*)", lock, re.MULTILINE):
        try:
            text = distribution(name).read_text("METADATA") or ""
        except PackageNotFoundError:
            text = ""
        hashes = re.findall(r"sha256:(\w+)", rest)
        yield _component(name.lower(), number, hashes, _licence(text))


def _licence(metadata: str) -> str:
    told = message_from_string(metadata)
    return told.get("License-Expression") or told.get("License") or ""


def _component(name: str, number: str, hashes: Sequence[str], licence: str) -> Component:
    found: Component = {
        "type": "library", "name": name, "version": number, "purl": f"pkg:pypi/{name}@{number}",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }  # fmt: skip
    if licence:
        found["licenses"] = [{"license": {"name": licence.splitlines()[0].strip()}}]
    return found


if __name__ == "__main__":
    locked = (ROOT / "requirements" / "runtime.lock").read_text(encoding="utf-8")
    Path(sys.argv[1]).write_bytes(bill(released(), list(of_lock(locked)), commit_time()))
