"""Promtool cases without the texts of the alerts: those are asserted once, in test_messages.py.

The cases in `*_test.yml` name labels and times. promtool compares annotations, too, so it is given
the rules without them.
"""

import atexit
import copy
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from tests.rules import latched
from tests.rules.expressions import document_of
from tests.support.tools import require

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def without_texts(document: dict[str, Any]) -> dict[str, Any]:
    """The rule file without annotations."""
    found = copy.deepcopy(document)
    for group in found["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    return found


def only(document: dict[str, Any], asked: Collection[str]) -> dict[str, Any]:
    """The rule file with those alerts alone that are asked for: fewer are evaluated."""
    found = copy.deepcopy(document)
    for group in found["groups"]:
        group["rules"] = [rule for rule in group["rules"] if rule.get("alert", "") in {"", *asked}]
    return found


def write(document: dict[str, Any], file: Path) -> None:
    """As YAML."""
    file.write_text(str(yaml.dump(document, Dumper=_DUMPER, sort_keys=False)))


def _made() -> tuple[Path, ...]:
    """Files with the cases that a table makes, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="esewatch-cases-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = []
    for of in latched.TABLE:
        document = latched.document(of)
        document["rule_files"] = [str((FOLDER / name).resolve()) for name in document["rule_files"]]
        files.append(folder / f"latched_{latched.name(of)}_test.yml")
        write(document, files[-1])
    return tuple(files)


FOLDER = Path(__file__).parent
TESTS = (*sorted(FOLDER.glob("*_test.yml")), *_made())
"""All files with cases."""


def prepare(path: Path, folder: Path, *, texts: bool = False) -> Path:
    """A test file with its rules in `folder`, ready for promtool."""
    document = copy.deepcopy(document_of(path))
    asked = {
        case["alertname"] for test in document["tests"] for case in test.get("alert_rule_test", ())
    }
    for name in document["rule_files"]:
        rules = document_of((path.parent / name).resolve())
        rules = only(rules if texts else without_texts(rules), asked)
        write(rules, folder / Path(name).name)
    document["rule_files"] = [Path(name).name for name in document["rule_files"]]
    file = folder / path.name
    write(document, file)
    return file


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """What promtool says of a prepared test file."""
    return subprocess.run(
        [require("promtool"), "test", "rules", str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
