"""The runbooks of this version, by the name of their alert, with commands for the database that one
is opened for."""

import re
import shlex
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PureWindowsPath
from typing import NamedTuple
from urllib.parse import urlencode

_SENTENCE = re.compile(r".+?\.(?= |$)")
_HEAD = re.compile(r"^Severity: (.+?)\. Subject: (.+)\.$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,99}", re.ASCII)


def _places() -> tuple[Traversable, ...]:
    """In an installed package, and in a source checkout."""
    package = resources.files("esewatch")
    places = [package / "_runbooks"]
    if isinstance(package, Path):
        places.append(package.parent.parent / "docs" / "runbooks")
    return tuple(places)


class Runbooks:
    """Markdown files `<Alert>.md`; where two places have one, the first place counts."""

    def __init__(self, places: Iterable[Traversable] | None = None) -> None:
        self._places = tuple(places) if places is not None else _places()

    def names(self) -> list[str]:
        found: set[str] = set()
        for place in self._places:
            if place.is_dir():
                names = (entry.name for entry in place.iterdir())
                found |= {name[:-3] for name in names if name.endswith(".md")}
        return sorted(name for name in found if _NAME.fullmatch(name))

    def text(self, alert: str) -> str | None:
        """The markdown of one runbook, None when there is none of this name."""
        file = self._file(alert)
        return None if file is None else file.read_bytes().decode("utf-8", "replace")

    def summary(self, alert: str) -> str:
        """The first sentence of what the alert means, plain text; empty without one."""
        meaning = (self.text(alert) or "").partition("\n## Meaning\n")[2].lstrip("\n")
        paragraph = " ".join(meaning.partition("\n\n")[0].split())
        sentence = _SENTENCE.match(paragraph)
        return (sentence[0] if sentence else paragraph).replace("`", "").replace("*", "")

    def head(self, alert: str) -> tuple[str, str]:
        """Severity and subject of the alert, as its runbook has them; empty where it has none."""
        found = _HEAD.search((self.text(alert) or "").partition("\n## ")[0])
        return (found[1], found[2]) if found else ("", "")

    def has(self, alert: str) -> bool:
        return self._file(alert) is not None

    def _file(self, alert: str) -> Traversable | None:
        if not _NAME.fullmatch(alert):
            return None
        files = (place / f"{alert}.md" for place in self._places)
        return next((file for file in files if file.is_file()), None)


_COMMAND = re.compile(r"^(?: {4,})(?:esewatch |curl |eseutil /mh ).*$", re.MULTILINE)
_LABEL = re.compile(r"(?:--computer \w+ )?'[a-z]:\\[^']+\.edb'")
_SNAPSHOT_FILE = re.compile(r"/snap/\w+\.edb")
_LOGGED_PATH = re.compile(r"(?<=eseutil /mh )\S+\.edb")
_JSON = re.compile(r"\S+/api/v1/databases")
_LOCAL = "http://127.0.0.1:19703"
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?", re.ASCII)


class Subject(NamedTuple):
    computer: str
    database: str
    """The label."""
    path: str
    """As it was logged."""


def addressed(markdown: str, host: str, *, secure: bool, prefix: str) -> str:
    """The runbook with the address that its reader asked, by the Host header, for that of the
    agent; as it is where `host` is none."""
    scheme = "https" if secure else "http"
    usual = _HOST.fullmatch(host) is not None
    return markdown.replace(_LOCAL, f"{scheme}://{host}{prefix}") if usual else markdown


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
    line = _SNAPSHOT_FILE.sub(lambda _: copy, line)
    line = _JSON.sub(lambda found: shlex.quote(f"{found[0]}?{fields}"), line)
    return line if '"' in subject.path else _LOGGED_PATH.sub(lambda _: f'"{subject.path}"', line)
