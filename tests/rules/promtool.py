"""Promtool cases without the texts of the alerts: those are asserted once, in test_messages.py.

The cases in `*_test.yml` name labels and times. promtool compares annotations, too, so it is given
the rules without them.
"""

import atexit
import copy
import shutil
import subprocess
import tempfile
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


def write(document: dict[str, Any], file: Path) -> None:
    """As YAML."""
    file.write_text(str(yaml.dump(document, Dumper=_DUMPER, sort_keys=False)))


def _made() -> Path:
    """The file with the cases that a table makes, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="esewatch-cases-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    document = latched.document()
    document["rule_files"] = [str((FOLDER / name).resolve()) for name in document["rule_files"]]
    file = folder / "latched_test.yml"
    write(document, file)
    return file


FOLDER = Path(__file__).parent
TESTS = (*sorted(FOLDER.glob("*_test.yml")), _made())
"""All files with cases."""


def prepare(path: Path, folder: Path, *, texts: bool = False) -> Path:
    """A test file with its rules in `folder`, ready for promtool."""
    document = copy.deepcopy(document_of(path))
    for name in document["rule_files"]:
        rules = document_of((path.parent / name).resolve())
        write(rules if texts else without_texts(rules), folder / Path(name).name)
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
