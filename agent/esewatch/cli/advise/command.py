"""`advise`: window advice, verification status and forecasts of passes."""

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from esefiles.base.command import FAILED, HEALTHY, WRONG, add_format_option
from esewatch.advice.advise import (
    Judged,
    judge_each,
    needs_a_person,
    together,
    without_past,
)
from esewatch.advice.base.finding import counted, listed, moment
from esewatch.advice.findings.details import LoneInstance, lone_instances
from esewatch.advice.judgement import Judgement
from esewatch.advice.not_judged import basis, never_proven, never_proven_text, nothing_judged
from esewatch.advice.what_if.estimate import WhatIfChange
from esewatch.advice.what_if.what_if import WhatIf, what_ifs
from esewatch.cli.advise.advice_text import (
    add_option,
    change,
    instance_lines,
    instance_object,
    text_lines,
    what_if_object,
)
from esewatch.cli.inputs.reading import (
    ComputerGroup,
    Reader,
    as_of,
    moments,
    state_of,
    tell_dropped,
)
from esewatch.cli.options import (
    NO_RUN,
    add_config_option,
    add_input_options,
    load_settings,
    run_command,
)
from esewatch.cli.output import ended_by_signals, tell
from esewatch.config import Settings
from esewatch.daemon.shared import together as joined
from esewatch.expose.advice_json import advice_object
from esewatch.expose.formatting import age_text
from esewatch.fold.identity.entities import namesakes
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import PAGES_READ
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import EsewatchError, JournalError
from esewatch.sources.kafka.partition import every_journal

NAMED = 3
"""Computers or instances that are named in one line at most."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "advise",
        description="Give advice from logs, as of their last record. Without inputs the journal of"
        " the configuration is read, and the advice is as of now.",
        epilog="example: esewatch advise --explain Application.evtx counters.csv",
    )
    add_input_options(parser, least="*")
    add_config_option(parser)
    add_format_option(parser)
    parser.add_argument(
        "--explain", action="store_true", help="also print every figure, and the rule that decided"
    )
    add_option(parser)
    parser.set_defaults(function=print_advice)


def print_advice(options: argparse.Namespace) -> int:
    """`advise`: exit status 1 when a verdict needs a person, a database is damaged, ignored ones
    too, or a piece was unreadable, 2 when no ESE database is known."""
    asked = change(options.what_if)
    settings = load_settings(options)
    if not options.paths:
        state = journaled(settings, run=run_command(options))
        _tell_unknown(state)
        is_part = tell_dropped(state)
        now = time.time()
        judging = judge_each(state, settings, lambda _: now)
        told = _told(state, settings, asked, judging.judged, now)
        told = told._replace(lone=lone_instances(state, now))
        _print(told, options)
        _tell_basis(told.advice, state, settings, live=True)
        if nothing_judged(state, told.lone) and not is_part:
            return FAILED
        wrong = is_part or judging.derived.is_damaged(state)
        return WRONG if wrong or needs_a_person([*told.advice, *told.lone]) else HEALTHY
    reader = Reader(options, companions=True, ese_only=True)
    state = state_of(reader, settings)
    if reader.nothing_read:
        return reader.status()
    for each in namesakes(state.hosts, settings):
        tell(each.sentence)
    _tell_unknown(state)
    is_part = tell_dropped(state)
    advice: list[Judgement] = []
    answers: dict[DatabaseKey, WhatIf] = {}
    lone: list[LoneInstance] = []
    now = time.time()
    groups = list(as_of(state, now))
    judging = judge_each(state, settings, moments(groups).__getitem__)
    for group in groups:
        _say_when(group, now)
        told = _told(group.state, settings, asked, judging.judged, group.time)
        advice += told.advice
        answers.update(told.answers)
        lone += lone_instances(group.state, group.time, group.computers)
    advice.sort(key=lambda each: (each.computer, each.database))
    lone.sort(key=lambda each: (each.computer, each.ese_instance.lower()))
    _print(AdviceOutput(advice, answers, lone), options)
    _tell_basis(advice, state, settings, live=False)
    if nothing_judged(state, lone) and not is_part:
        return FAILED
    wrong = is_part or judging.derived.is_damaged(state)
    return reader.status(wrong=wrong or needs_a_person([*advice, *lone]))


class AdviceOutput(NamedTuple):
    """The advice, the answers to a what-if by database, and instances without any database.

    Such an instance has backups or errors, and no event names a database of it.
    """

    advice: Sequence[Judgement]
    answers: Mapping[DatabaseKey, WhatIf]
    lone: Sequence[LoneInstance] = ()


def _told(
    state: State,
    settings: Settings,
    asked: WhatIfChange | None,
    judged: Mapping[DatabaseKey, Judged],
    now: float,
) -> AdviceOutput:
    answers = what_ifs(state, settings, asked, now) if asked is not None else {}
    return AdviceOutput(together(state, settings, judged, now), answers)


def _say_when(group: ComputerGroup, now: float) -> None:
    named = [*group.computers[:NAMED], *(["others"] if len(group.computers) > NAMED else [])]
    age = age_text(group.time, now)
    whose = "their" if len(group.computers) > 1 else "its"
    when = f"as of {whose} last record, {moment(group.time)}{f', {age} ago' if age else ''}"
    if not group.dated:
        when = f"as of now: {whose} events have no time, so ages and advice are not available"
    tell(f"{listed(named)} {when}")


def _tell_unknown(state: State) -> None:
    """Name the instances that are sampled and of which no event names a database."""
    known = {instance_key(each) for each in state.databases.values()}
    unknown = [
        f"{each.ese_instance} ({each.computer})"
        for key, each in sorted(state.instances.items())
        if PAGES_READ in each.totals and key not in known
    ]
    if unknown and not state.databases_dropped:
        rest = len(unknown) - NAMED
        more = [counted(rest, "other instance")] if rest > 0 else []
        named = listed([*unknown[:NAMED], *more])
        tell(f"no advice for {named}: there are only counters, and no event names a database")


def _tell_basis(
    advice: Collection[Judgement], state: State, settings: Settings, *, live: bool
) -> None:
    """Name on standard error that something was not judged or verified, and the next command."""
    keys = never_proven(advice)
    found = basis([(each.tier, each) for each in advice], state, settings, live=live)
    sentence = f"not verified: {never_proven_text(keys)}" if keys else found.sentence
    if sentence:
        tell(sentence)


def journaled(settings: Settings, *, run: str = "") -> State:
    """The state of the last commits, those of partitions too, also while a daemon writes them.

    `run`: the command that would make them, if it is known. Raises EsewatchError without a journal,
    JournalError for one that cannot be read.
    """
    if not Path(settings.journal).exists():
        if run:
            raise EsewatchError(f"{settings.journal}: {NO_RUN}; name inputs, or start {run}")
        raise EsewatchError(
            f"{settings.journal}: there is no journal; name inputs, or the configuration with"
            " --config.file F"
        )
    return joined([_committed(path) for path in every_journal(settings)])


def _committed(path: Path) -> State:
    with ended_by_signals(), tempfile.TemporaryDirectory(prefix="esewatch-") as folder:
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
    """A journal that no process has open is read without creating files beside it (-wal, -shm)."""
    beside = Path(f"{path}-wal")
    alone = not beside.exists()
    _back_up(path, "mode=ro&immutable=1" if alone else "mode=ro", to)
    if alone and beside.exists():  # opened meanwhile: what was copied may be of two commits
        _back_up(path, "mode=ro", to)


def _back_up(path: Path, how: str, to: Path) -> None:
    source = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)
    with contextlib.closing(source), contextlib.closing(sqlite3.connect(to)) as target:
        source.backup(target)


def _print(told: AdviceOutput, options: argparse.Namespace) -> None:
    if options.format == "json":
        shown = _json_lines(told)
    else:
        current = without_past(told.advice, time.time())
        shown = chain(
            text_lines(current, options.explain, told.answers, others=bool(told.lone)),
            [""] if told.advice and told.lone else [],
            instance_lines(told.lone),
        )
    for line in shown:
        sys.stdout.write(line + "\n")


def _json_lines(told: AdviceOutput) -> Iterator[str]:
    encode = msgspec.json.Encoder().encode
    for each in told.advice:
        shown = advice_object(each)
        answers = told.answers.get((each.computer, each.database))
        if answers is not None:
            shown["what_if"] = what_if_object(answers)
        yield encode(shown).decode()
    yield from (encode(instance_object(each)).decode() for each in told.lone)
