"""`doctor --bundle`: one text with what to send with a bug report, without secrets and names.

Names of computers become `computer1`, `computer2`, also in paths and lines of the log. Of the
records the letters of all strings are `x`, so that form, numbers and codes stay.
"""

import functools
import json
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

import msgspec

from esefiles import __version__
from esefiles.base.names import reason_of, visible
from esefiles.pages import kernels
from esewatch.cli.doctor.known_state import look_all
from esewatch.config import FileSource, Settings
from esewatch.config.files import dump
from esewatch.fold.identity.identity import computer_label, tier
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError, Event
from esewatch.sources.registry import PROGRAMS, build_source

SECONDS = 10.0
KINDS = 50
"""Kinds of events in the sample of a source: of each kind the last one that is read within the
time."""
LINES = 50
"""Of the log of the agent."""
NUMBER = re.compile(r"[-+]?(?:0x[0-9a-f]+|[0-9][0-9a-f]*)", re.IGNORECASE)
WORD = re.compile(r"\w+")
LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
CLIENT = re.compile(r"^(\s+)client:\n((?:\1 +.*\n)+)", re.MULTILINE)
"""The settings of a client of Kafka in the YAML, one a line."""


class Report(NamedTuple):
    """The settings that `doctor` found, the facts of the records, and its lines."""

    settings: Settings | None
    """None where the configuration is wrong."""
    state: State
    lines: Sequence[str]


def bundle(report: Report, unit: str) -> str:
    """The text; `unit` is the service of the agent, empty where none is known."""
    sections = (
        ("versions", versions()),
        ("settings", shown_settings(report.settings) if report.settings else ["cannot be read"]),
        ("doctor", report.lines),
        ("counts", counts(report.state, report.settings or Settings())),
        ("log", log_lines(unit)),
        ("records", sample(report.settings or Settings())),
    )
    text = "\n".join(
        f"[{name}]\n" + "".join(f"{visible(line)}\n" for line in lines) for name, lines in sections
    )
    return without_names(text, computers(report))


def versions() -> Iterator[str]:
    yield f"esewatch {__version__} ({kernels.NAME} kernel)"
    yield f"Python {platform.python_version()}, {platform.platform()}"
    try:
        required = requires("esewatch") or []
    except PackageNotFoundError:  # run from its sources
        required = []
    for requirement in required:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name} is not installed"


def shown_settings(settings: Settings) -> list[str]:
    """Without what may be a login: part of an address, or a setting of a client of Kafka."""
    text = LOGIN.sub("...@", dump(settings))
    return CLIENT.sub(
        lambda found: f"{found[1]}client:\n" + re.sub(r"(?m):.*$", ": ...", found[2]), text
    ).splitlines()


def counts(state: State, settings: Settings) -> Iterator[str]:
    for source in state.sources.values():
        told = {
            key: value
            for key, value in msgspec.to_builtins(source).items()
            if isinstance(value, int | float) and value
        }
        yield f"source {source.name}: " + ", ".join(f"{key} {value}" for key, value in told.items())
    tiers = Counter(tier(each, settings) for each in state.databases.values())
    yield f"databases: {', '.join(f'{name} {count}' for name, count in tiers.items()) or 'none'}"
    yield f"instances: {len(state.instances)}, computers: {len(state.hosts)}"


def log_lines(unit: str) -> list[str]:
    """The last lines that the service logged, or why there are none."""
    if not unit:
        return ["no service is known: add the last lines of the agent's standard error"]
    command = ["journalctl", "--no-pager", f"--lines={LINES}", "--output=cat", f"--unit={unit}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{command[0]}: {reason_of(error)}"]
    return (done.stdout or done.stderr).decode("utf-8", "replace").splitlines()


def sample(settings: Settings) -> Iterator[str]:
    """An event of each kind in each source of files, as JSON. A page scan is not begun."""
    sources = [
        each
        for each in settings.sources
        if isinstance(each, FileSource) and each.type not in PROGRAMS
    ]
    kept: dict[str, dict[tuple[str, int], Event]] = {each.name: {} for each in sources}

    def read(entry: FileSource) -> None:
        source = build_source(entry, settings)
        try:
            for batch in source.poll(final=True):
                for each in batch.records:
                    if isinstance(each, Event):
                        kept[entry.name][each.provider, each.event_id] = each
        finally:
            source.close()

    looks = {each.name: functools.partial(read, each) for each in sources}
    ended = look_all(looks, SECONDS).ended
    for name, events in kept.items():
        error = ended.get(name)
        yield f"source {name}" + (f": {error}" if isinstance(error, Exception) else "")
        yield from map(redacted, list(events.values())[:KINDS])
    if not kept:
        yield "no source of files"


def redacted(event: Event) -> str:
    """The event as it was logged, its strings without letters."""
    strings = tuple(WORD.sub(_hidden, each) for each in event.strings)
    found = msgspec.to_builtins(msgspec.structs.replace(event, strings=strings))
    kept = ("time", "computer", "channel", "provider", "event_id", "record_id", "level", "strings")
    return json.dumps({key: found[key] for key in kept}, ensure_ascii=False)


def _hidden(word: re.Match[str]) -> str:
    if NUMBER.fullmatch(word[0]):
        return word[0]
    return re.sub(r"[^\W\d_]", "x", word[0])


def computers(report: Report) -> list[str]:
    """All that are known by name, this one too."""
    known = [*report.state.hosts, *(computer for computer, _ in report.state.databases)]
    here = computer_label(platform.node(), report.settings or Settings())
    return list(dict.fromkeys(filter(None, [*sorted(known), here])))


def without_names(text: str, names: Iterable[str]) -> str:
    """The text with `computer1` for the first of the names, with its domain, and so on."""
    numbers = {name.lower(): number for number, name in enumerate(names, 1)}
    if not numbers:
        return text
    longest_first = sorted(numbers, key=len, reverse=True)
    anyone = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?<![\w.-])({anyone})(?:\.[a-z0-9-]+)*(?![\w-])", re.IGNORECASE)
    return pattern.sub(lambda found: f"computer{numbers[found[1].lower()]}", text)


def written(text: str, path: str) -> bool:
    """Show the text, and write it into a new file that only its owner may read: on a terminal
    after a question, which may be answered with no. Raises EsewatchError."""
    sys.stdout.write(text)
    if path == "-":
        return True
    if sys.stdin.isatty() and sys.stdout.isatty():
        sys.stderr.write(f"write this into {visible(path)}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return False
    try:
        Path(path).touch(mode=0o600, exist_ok=False)
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise EsewatchError(f"{path}: not written: {reason_of(error)}") from error
    return True
