"""A runbook whose commands name the database that it was opened for."""

import re
import shlex
from pathlib import PureWindowsPath
from typing import NamedTuple
from urllib.parse import urlencode

_COMMAND = re.compile(r"^(?: {4,})(?:esewatch |curl |eseutil /mh ).*$", re.MULTILINE)
_LABEL = re.compile(r"(?:--computer \w+ )?'[a-z]:\\[^']+\.edb'")
_COPY = re.compile(r"/snap/\w+\.edb")
_PATH = re.compile(r"(?<=eseutil /mh )\S+\.edb")
_JSON = re.compile(r"\S+/api/v1/databases")


class Subject(NamedTuple):
    """The database that a runbook is opened for."""

    computer: str
    database: str
    """The label."""
    path: str
    """As it was logged."""


def filled(markdown: str, subject: Subject) -> str:
    """The runbook with its commands for `subject`; all else, examples too, stays as it is."""
    if not all(part.isprintable() for part in subject):
        return markdown
    return _COMMAND.sub(lambda found: _command(found[0], subject), markdown)


def _command(line: str, subject: Subject) -> str:
    computer, label = shlex.quote(subject.computer), shlex.quote(subject.database)
    fields = urlencode({"computer": subject.computer, "q": subject.path})
    copy = shlex.quote(f"/snap/{PureWindowsPath(subject.path).name}")
    line = _LABEL.sub(lambda _: f"--computer {computer} {label}", line)
    line = _COPY.sub(lambda _: copy, line)
    line = _JSON.sub(lambda found: shlex.quote(f"{found[0]}?{fields}"), line)
    return line if '"' in subject.path else _PATH.sub(lambda _: f'"{subject.path}"', line)
