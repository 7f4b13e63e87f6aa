"""`doctor`: explains missing data and gives the exact command that fixes it."""

import argparse
import errno
import functools
import importlib.util
import itertools
import operator
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from esefiles.base.command import HEALTHY, WRONG, add_format_option
from esefiles.base.names import visible
from esewatch.advice.base.finding import counted
from esewatch.cli.advise.command import journaled
from esewatch.cli.doctor import bundle
from esewatch.cli.doctor.agent import (
    again_as_root,
    curl,
    not_taken_up,
    of_daemon,
    of_journal,
    restarting,
    unit_of,
)
from esewatch.cli.doctor.known_state import KnownState, look_all, within
from esewatch.cli.doctor.log_retention import Channel, Length, lengths, longest_passes, short_logs
from esewatch.cli.doctor.source_files import Account, account_of, of_files, shell_word
from esewatch.cli.options import (
    add_config_option,
    add_storage_option,
    load_settings,
)
from esewatch.cli.run.local import add_address_options
from esewatch.config import FileSource, Kafka, Settings
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.problems.problem import Problem, ProblemName, in_order
from esewatch.fold.state.state import State
from esewatch.model import ConfigError, EsewatchError, JournalError, SourceError
from esewatch.sources.kafka.brokers import client_module
from esewatch.sources.kafka.partition import every_journal

SECONDS = 10.0
"""Timeouts of the check of all files, and of any other check that may hang."""

EXPLAINED: frozenset[ProblemName] = frozenset(
    {"counters_foreign", "no_permission", "path_hangs", "path_matches_nothing", "snapshot_never"}
)
"""Problems that the check of a source's files explains."""
CONSEQUENCES: frozenset[ProblemName] = frozenset({
    "counters_foreign", "snapshot_never", "snapshot_old", "source_down", "source_empty",
    "unreadable_input",
})  # fmt: skip
"""Problems of the state that are then left out for the source."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "doctor",
        description="Checks the configuration, the journal, the daemon and the inputs, and "
        "changes nothing. Exit status 1: action is required.",
        epilog="example: esewatch doctor --config.file /etc/esewatch/esewatch.yml",
    )
    add_config_option(parser)
    add_storage_option(parser)
    add_format_option(parser)
    add_address_options(parser)
    parser.add_argument(
        "--bundle",
        default="",
        metavar="FILE",
        help="show what to send with a bug report, without secrets and names of computers, and "
        "write it into a new file; -: only show it",
    )
    parser.set_defaults(function=print_problems)


def print_problems(options: argparse.Namespace) -> int:
    """`doctor`: the problems, then a list of the checks."""
    settings, state = None, State()
    try:
        settings = _settings(options)
    except ConfigError as error:
        looked = "the configuration"
        again = f"esewatch config check --config.file {shell_word(options.config)}"
        problems = in_order(
            Problem(
                problem="configuration_wrong", source=options.config, sentence=line, command=again
            )
            for line in str(error).splitlines()
        )
    else:
        problems, looked, state = _examine(settings, options)
    if options.bundle:
        lines = [*text_lines(problems), f"checked {looked}"]
        text = bundle.bundle(bundle.Report(settings, state, lines), unit_of(options))
        return HEALTHY if bundle.written(text, options.bundle) else WRONG
    for line in (json_lines if options.format == "json" else text_lines)(problems):
        sys.stdout.write(line + "\n")
    needed = sum(problem.needs_person for problem in problems)
    end = f"{counted(needed, 'problem')} to fix" if needed else "nothing to do"
    # JSON is read by programs: one object a line and nothing else.
    beside = sys.stderr if options.format == "json" else sys.stdout
    beside.write(visible(f"checked {looked}: {end}") + "\n")
    return WRONG if needed else HEALTHY


def _settings(options: argparse.Namespace) -> Settings:
    """Raises ConfigError for a file that is wrong, EsewatchError for one that cannot be read."""
    if options.config:
        try:
            found = within(SECONDS, Path(options.config).stat)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise EsewatchError(f"{options.config}: cannot be read: {reason}") from error
        if not stat.S_ISREG(found.st_mode):
            raise EsewatchError(f"{options.config}: cannot be read: not a regular file")
        if not os.access(options.config, os.R_OK):
            raise EsewatchError(f"{options.config}: cannot be read: Permission denied")
    try:
        return within(SECONDS, lambda: load_settings(options))
    except TimeoutError as error:
        raise EsewatchError(f"{options.config}: cannot be read: {error}") from error


class _Known(NamedTuple):
    """The facts of the records, and their origin: `journal` or `inputs`."""

    state: State
    problems: list[Problem]
    reasons: Mapping[str, str]
    pieces: Mapping[str, str]
    whence: str
    journal: bool


def _examine(
    settings: Settings, options: argparse.Namespace
) -> tuple[tuple[Problem, ...], str, State]:
    now = time.time()
    path = Path(settings.journal)
    account = account_of(path)
    agent = _agent(settings, options, account)
    known = _known(settings, options)
    files, logs = _files(settings, known.state, account)
    told = overview(known.state, settings, now).problems
    short = short_logs(logs, longest_passes(known.state), known.state)
    silent = any(each.problem == "daemon_silent" for each in agent)
    stale = not_taken_up(settings, known.state, options) if known.journal and not silent else ()
    found = [*agent, *known.problems, *files, *short, *stale]
    listing = curl(options, "/api/v1/databases")
    found += (
        msgspec.structs.replace(each, command=listing) if each.problem == "rule_unused" else each
        for each in _without_consequences(told, files, known)
    )
    looked = (
        f"{'' if options.config else 'no configuration (--config.file), '}"
        f"{known.whence}, {counted(len(settings.sources), 'source')}, "
        f"{counted(len(known.state.databases), 'database')}, the daemon at {options.address}, "
        f"files as {account.name}"
    )
    return in_order(found), looked, known.state


def _agent(settings: Settings, options: argparse.Namespace, account: Account) -> list[Problem]:
    """Of journal and daemon. Raises EsewatchError for an address that is none."""
    path = Path(settings.journal)
    looks = look_all(
        {
            "journal": lambda: of_journal(settings, account, options),
            "daemon": lambda: of_daemon(options),
        },
        SECONDS,
    )
    if isinstance(wrong := looks.ended.get("daemon"), EsewatchError):
        raise wrong
    found = [_hangs(name, f"the {name} does not answer") for name in looks.hanging]
    return [*found, *_gathered(looks.ended, {"journal": str(path), "daemon": options.address})]


def _known(settings: Settings, options: argparse.Namespace) -> _Known:
    problems: list[Problem] = []
    path = settings.journal
    try:
        if beside := within(SECONDS, functools.partial(_readable, settings)):
            state = within(2 * SECONDS, functools.partial(journaled, settings))
            reasons = _asked(settings, state)
            more = f" and {len(beside) - 1} of partitions" if len(beside) > 1 else ""
            return _Known(state, [], reasons, {}, f"the journal {path}{more}", True)
    except PermissionError as error:
        barred = f"this account may not read the journal {error.filename}"
        problems.append(_of_journal("no_permission", barred, again_as_root(options)))
    except TimeoutError as error:
        problems.append(_of_journal("path_hangs", f"the journal {path}: {error}", ""))
    except (JournalError, OSError) as error:
        problems.append(_of_journal("journal_damaged", str(error), restarting(options)))
    look = KnownState(settings)
    state = look.read()
    if look.unread:
        problems.append(
            Problem(
                problem="source_behind",
                source=look.unread[0],
                sentence="only a sample of the inputs was read: statements on databases may be "
                "incomplete until esewatch has run",
                needs_person=False,
            )
        )
    return _Known(state, problems, look.reasons, look.pieces, "the inputs", False)


def _readable(settings: Settings) -> list[Path]:
    """The journals, none where there is no daemon's own. Raises PermissionError, JournalError."""
    found = every_journal(settings)
    for path in found:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return []
        if not stat.S_ISREG(mode):
            raise JournalError(f"{path}: the journal is not a regular file")
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return found


def _of_journal(problem: ProblemName, sentence: str, command: str) -> Problem:
    told = ". Statements on sources and databases come from a short sample of the inputs"
    return Problem(problem=problem, sentence=sentence + told, command=command)


def _asked(settings: Settings, state: State) -> Mapping[str, str]:
    """Reasons why sources are down; the others are not read beside the daemon."""
    down = [
        each
        for each in settings.sources
        if each.type != "evtx"
        and (known := state.sources.get(each.name)) is not None
        and not known.up
    ]
    look = KnownState(msgspec.structs.replace(settings, sources=down))
    look.read(SECONDS)
    return look.reasons


def _files(
    settings: Settings, state: State, account: Account
) -> tuple[list[Problem], dict[Channel, Length]]:
    """Problems of the files of the sources; a source whose files hang is a problem."""
    looks: dict[str, Callable[[], object]] = {}
    sizes: dict[str, Callable[[], object]] = {}
    for entry in settings.sources:
        if isinstance(entry, FileSource):
            known = state.sources.get(entry.name)
            records = known.records if known is not None else 0
            looks[entry.name] = functools.partial(of_files, entry, account, records)
        elif entry.type == "kafka":
            looks[entry.name] = functools.partial(_of_kafka, entry)
        if entry.type == "evtx":
            sizes[entry.name] = functools.partial(lengths, entry, settings)
    found = look_all(looks, SECONDS)
    problems = [_hangs(name, "its files do not answer (a dead share?)") for name in found.hanging]
    problems += _gathered(found.ended, {name: name for name in looks})
    logs: dict[Channel, Length] = {}
    measured = look_all(
        {name: look for name, look in sizes.items() if name not in found.hanging}, SECONDS
    )
    for length in measured.ended.values():
        if isinstance(length, dict):
            logs.update(length)
    return problems, logs


def _of_kafka(entry: Kafka) -> list[Problem]:
    try:
        client_module()
    except SourceError as error:
        # The packages of systems have none: docs/kafka.md says what to do there.
        has_pip = importlib.util.find_spec("pip") is not None
        command = f"{shell_word(sys.executable)} -m pip install 'esewatch[kafka]'"
        return [
            Problem(
                problem="source_down",
                source=entry.name,
                sentence=str(error),
                command=command if has_pip else "",
            )
        ]
    return []


def _gathered(ended: Mapping[str, object], names: Mapping[str, str]) -> Iterable[Problem]:
    for name, found in ended.items():
        if isinstance(found, Exception):
            yield _hangs(names[name], f"cannot be checked: {found}")
        elif isinstance(found, list):
            yield from found


def _hangs(name: str, sentence: str) -> Problem:
    return Problem(problem="path_hangs", source=name, sentence=sentence)


def _without_consequences(
    told: Iterable[Problem], files: Iterable[Problem], known: _Known
) -> Iterable[Problem]:
    """Problems of the state, without those that the files explain; with the reason where it is
    known."""
    explained = {each.source for each in files if each.problem in EXPLAINED}
    for each in told:
        if each.source in explained and each.problem in CONSEQUENCES:
            continue
        reason = ""
        if each.problem == "source_down":
            reason = known.reasons.get(each.source, "")
        elif each.problem == "unreadable_input":
            reason = known.pieces.get(each.source, "")
        if reason:
            # The command for the server of an endpoint that does not answer.
            command = "Start-Service windows_exporter" if "refused" in reason else ""
            yield msgspec.structs.replace(each, sentence=reason, command=command)
        else:
            yield each


MOST = 3
"""Problems of one name and urgency that have a line of text each, as on the status page."""


def text_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """A line a problem; of alike ones that follow each other the first, and how many more."""
    kind = operator.attrgetter("needs_person", "problem")
    for (needs_person, name), alike in itertools.groupby(problems, kind):
        urgency = "action" if needs_person else "note"
        found = list(alike)
        # "1 more" takes as much room as the problem itself.
        shown = found if len(found) <= MOST + 1 else found[:MOST]
        for each in shown:
            yield visible(f"{urgency}  {name}  {_said(each)}")
        if more := len(found) - len(shown):
            yield f"{urgency}  {name}  and {more} more like it; all: --format json"


def json_lines(problems: Sequence[Problem]) -> Iterator[str]:
    for each in problems:
        yield msgspec.json.encode(each).decode("utf-8", "surrogatepass")


def _said(problem: Problem) -> str:
    whose = f"{problem.whose}: " if problem.whose else ""
    run = f"  run: {problem.command}" if problem.command else ""
    setting = f"  set: {problem.setting}" if problem.setting else ""
    return f"{whose}{problem.sentence}{run}{setting}"
