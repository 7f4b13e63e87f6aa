"""Who is who: computers, databases, instances (semantics, section 1)."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from tests.oracle.facts import NOT_A_DATABASE
from tests.oracle.history import Acknowledged, History


class Computers:
    """The label of each computer name.

    "name in the record, lower case, first DNS label". "Two different full names under one short
    label are two computers: the first that the agent met keeps the short one (of inputs read
    together: the one with the oldest record), the others get their full name as label." "A short
    name and a full one that begins with it are one computer."
    """

    def __init__(self, history: History) -> None:
        self.whole = str(history.configuration.get("computer_label", "short")) == "fqdn"
        aliases = history.configuration.get("computers") or {}
        assert isinstance(aliases, Mapping)
        self.aliases = {a.lower(): b.lower() for a, b in aliases.items() if isinstance(b, str)}
        self.retired = {a.lower() for a, b in aliases.items() if not isinstance(b, str)}
        oldest: dict[str, float] = {}
        for record in history.records:
            if not isinstance(record, Acknowledged):
                name = self.known_as(record.computer)
                oldest[name] = min(record.time, oldest.get(name, record.time))
        self.holder: dict[str, str] = {}
        for name in sorted(oldest, key=lambda each: (oldest[each], each)):
            if "." in name:
                self.holder.setdefault(name.split(".")[0], name)

    def known_as(self, name: str) -> str:
        """The name in lower case, its alias followed."""
        name = name.lower()
        return self.aliases.get(name, name)

    def label(self, name: str) -> str:
        """The label of a name as logged."""
        name = self.known_as(name)
        short = name.split(".")[0]
        if self.whole or ("." in name and self.holder.get(short, name) != name):
            return name
        return short

    def is_retired(self, label: str) -> bool:
        """Whether the configuration says that the computer is gone for good."""
        return any(self.same(name, label) for name in self.retired)

    def same(self, name: str, label: str) -> bool:
        """Whether a name, short or full, is that of the computer with the label."""
        name = self.known_as(name)
        full = label if "." in label else self.holder.get(label, label)
        if "." in name and "." in full:
            return name == full
        return name.split(".")[0] == full.split(".")[0]


@cache
def database_label(path: str) -> str:
    r"""The label of a path; empty where it names no database of its own.

    "`\\?\`, `\\.\` stripped; lower case, `/` and doubled backslashes as single backslashes if it
    has a drive letter or UNC root; a `.` component removed; POSIX unchanged." "Shadow copies and
    snapshots are not databases of their own: map to the origin where the path tells it, else
    ignore." (`is_nameless_snapshot` tells the latter.)
    """
    path = path.strip()
    if not path or path.lower().endswith(NOT_A_DATABASE):
        return ""
    if path.startswith("/") and not path.startswith("//"):
        return path
    plain = path.lower().replace("/", "\\")
    share = False
    if plain.startswith("\\\\?\\unc\\"):
        plain, share = plain[8:], True
    elif plain.startswith(("\\\\?\\", "\\\\.\\")):
        plain = plain[4:]
    elif plain.startswith("\\\\"):
        plain, share = plain[2:], True
    plain = re.sub(r"\\+", lambda _: "\\", plain)
    while "\\.\\" in plain:
        plain = plain.replace("\\.\\", "\\")
    mounted = re.search(r"\$snap_\d+_volume([a-z])\$\\(.+)", plain)
    if mounted:
        return f"{mounted[1]}:\\{mounted[2]}"
    if is_nameless_snapshot(path):
        return path
    if share:
        return "\\\\" + plain
    return plain if re.match(r"[a-z]:", plain) else path


@cache
def is_nameless_snapshot(path: str) -> bool:
    """Whether it is in a snapshot whose path does not tell the origin."""
    plain = re.sub(r"[/\\]+", lambda _: "\\", path.lower())
    if re.search(r"\$snap_\d+_volume([a-z])\$\\(.+)", plain):
        return False
    return is_snapshot(plain)


@cache
def is_snapshot(path: str) -> bool:
    """Whether it is in a snapshot of whatever origin."""
    plain = re.sub(r"[/\\]+", lambda _: "\\", path.lower())
    return "harddiskvolumeshadowcopy" in plain or "$snap_" in plain or "\\snapshots\\" in plain


def is_temporary(path: str) -> bool:
    """Whether it is a temporary database, by "in events the name alone".

    "A temporary database (called `temp.edb`, `tmp.edb`, `TEMPCHKSUM*.EDB`) is no copy of anything
    ...; its corruption events are counted and make nothing observed."
    """
    name = file_name(path)
    return name in ("temp.edb", "tmp.edb") or fnmatchcase(name, "tempchksum*.edb")


def file_name(path: str) -> str:
    """The last part of a path, in lower case."""
    return re.split(r"[\\/]", path.lower())[-1]


def instance_key(strings: tuple[str, ...]) -> str:
    """`%3` without its colon, lower case; an instance without a name is known by its process.

    "An instance without a name (certsrv) is known by its process; its backups, stops and starts
    count like those of a named one."
    """
    name = strings[2].strip().removesuffix(":").strip().lower() if len(strings) > 2 else ""
    return name or "process " + (strings[0].lower() if strings else "")


def entry_of(configuration: Mapping[str, Any], database: str) -> Mapping[str, Any]:
    """The first entry below `databases` that matches the label; empty where none does."""
    for entry in configuration.get("databases") or ():
        pattern = str(entry.get("match", "")).lower().replace("/", "\\")
        if fnmatchcase(database.lower(), pattern):
            found: Mapping[str, Any] = entry
            return found
    return {}


def database_name(entry: Mapping[str, Any], instances: frozenset[str], database: str) -> str:
    """`database_name`: "configuration, else instance name, else file stem"."""
    if entry.get("name"):
        return str(entry["name"]).lower()
    named = sorted(each for each in instances if not each.startswith("process "))
    if named:
        return named[0]
    return file_name(database).rsplit(".", 1)[0]
