"""`advise`: what to do with each window, what is verified, and when a pass will be done."""

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from esewatch.advice.advise import Advice, advise
from esewatch.advice.findings import FindingName, listed, moment
from esewatch.cli.advise_text import text_lines
from esewatch.cli.options import (
    add_config_option,
    add_format_option,
    add_input_options,
    load_settings,
)
from esewatch.cli.reader import HEALTHY, WRONG, Reader
from esewatch.cli.scan_text import printable
from esewatch.config import Settings
from esewatch.expose.advice_json import advice_object
from esewatch.fold.folder import Folder
from esewatch.fold.state import State
from esewatch.journal import Journal
from esewatch.model import EsewatchError, JournalError

PERSON: frozenset[FindingName] = frozenset(
    {
        "investigate",
        "never_verified",
        "only_active_verified",
        "only_passive_verified",
        "verification_overdue",
    }
)
"""Findings that need a person: exit status 1. The others are advice, or wait for events."""

DAY = 86400.0
NAMED = 3
"""Computers that are named in one line at most."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `advise`."""
    parser = commands.add_parser(
        "advise",
        help="window and integrity advice with its evidence",
        description="Advice from a pile of logs as of their last record; "
        "without inputs as of now, from the journal of the configuration.",
        epilog="example: esewatch advise --explain Application.evtx counters.csv",
    )
    add_input_options(parser, least="*")
    add_config_option(parser)
    add_format_option(parser)
    parser.add_argument(
        "--explain", action="store_true", help="every figure, and the rule that decided"
    )
    parser.set_defaults(function=print_advice)


def print_advice(options: argparse.Namespace) -> int:
    """`advise`: exit status 1 when a finding needs a person or a piece was unreadable."""
    settings = load_settings(options)
    if not options.paths:
        now = advise(_journaled(Path(settings.journal)), settings, time.time())
        _print(now, options)
        return WRONG if _needs_a_person(now) else HEALTHY
    reader = Reader(options, companions=True, ese_only=True)
    state = _read(reader, settings)
    advice = [each for group in as_of(state, time.time()) for each in _advise(group, settings)]
    advice.sort(key=lambda each: (each.computer, each.database))
    _print(advice, options)
    return reader.status(wrong=_needs_a_person(advice))


class Group(NamedTuple):
    """Computers whose records end at about the same time, and that time."""

    time: float
    computers: tuple[str, ...]
    state: State
    """Their databases only."""


def as_of(state: State, now: float) -> Iterator[Group]:
    """The computers by the last record of each: what came after it is not known.

    Those whose last records are less than a day apart are judged together, for their copies.
    """
    ends: dict[str, float] = {}
    for computer, time_ in _last_records(state):
        ends[computer] = max(ends.get(computer, 0.0), min(time_, now))
    known = sorted({key[0] for key in state.databases}, key=lambda each: ends.get(each, 0.0))
    groups: list[list[str]] = []
    for computer in known:
        if groups and ends[computer] - ends[groups[-1][-1]] < DAY:
            groups[-1].append(computer)
        else:
            groups.append([computer])
    for group in groups:
        kept = {key: each for key, each in state.databases.items() if key[0] in group}
        part = msgspec.structs.replace(state, databases=kept)
        yield Group(ends[group[-1]], tuple(sorted(group)), part)


def _last_records(state: State) -> Iterator[tuple[str, float]]:
    for database in state.databases.values():
        yield database.computer, database.last_seen
    for channel in state.channels.values():
        yield from ((channel.computer, epoch.max_time) for epoch in channel.epochs)
    for instance in state.instances.values():
        for column in instance.counters.values():
            yield instance.computer, column.last_time


def _advise(group: Group, settings: Settings) -> tuple[Advice, ...]:
    named = [*group.computers[:NAMED], *(["others"] if len(group.computers) > NAMED else [])]
    when = f"as of their last record, {moment(group.time)}"
    print(f"esewatch: {printable(listed(named))} {when}", file=sys.stderr)
    return advise(group.state, settings, group.time)


def _read(reader: Reader, settings: Settings) -> State:
    folder = Folder(State(), settings)
    for source in reader.sources():
        folder.open_source(source.name, time.time())
        for batch in reader.batches(source):
            folder.fold(source.name, batch, time.time())
    return folder.state


def _journaled(path: Path) -> State:
    """The state of the last commit, also while a daemon writes the journal: read from a copy."""
    if not path.exists():
        raise EsewatchError(
            f"{path}: there is no journal: name inputs, or the configuration: --config.file F"
        )
    with tempfile.TemporaryDirectory(prefix="esewatch-") as folder:
        copy = Path(folder) / path.name
        try:
            _copy(path, copy)
            with contextlib.closing(Journal(copy, mend=False)) as journal:
                return journal.load()[0]
        except sqlite3.Error as error:
            raise JournalError(f"{path}: the journal cannot be read: {error}") from error
        except JournalError as error:
            raise JournalError(str(error).replace(str(copy), str(path))) from error


def _copy(path: Path, to: Path) -> None:
    source = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    with contextlib.closing(source), contextlib.closing(sqlite3.connect(to)) as target:
        source.backup(target)


def _print(advice: Iterable[Advice], options: argparse.Namespace) -> None:
    shown = _json_lines(advice) if options.format == "json" else text_lines(advice, options.explain)
    for line in shown:
        sys.stdout.write(line + "\n")


def _json_lines(advice: Iterable[Advice]) -> Iterator[str]:
    encode = msgspec.json.Encoder().encode
    return (encode(advice_object(each)).decode() for each in advice)


def _needs_a_person(advice: Iterable[Advice]) -> bool:
    return any(found.finding in PERSON for each in advice for found in each.findings)
