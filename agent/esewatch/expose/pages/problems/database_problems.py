"""Missing data of computers and databases: counters, windows, devices, names, events."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import msgspec

from esewatch.advice.base.finding import counted
from esewatch.advice.history.copies import Member
from esewatch.config import Settings, window_for
from esewatch.ese.counters.counter_feeds import DATABASE_MAINTENANCE, ONLINE_DEFRAG
from esewatch.expose.pages.hidden_counters import Hidden, commands_of
from esewatch.expose.pages.problems.problem import (
    Problem,
    about,
    endpoint_setting,
    listed_names,
    quoted,
)
from esewatch.expose.pages.problems.rule_settings import RuleSettings
from esewatch.fold.identity.entities import namesakes
from esewatch.fold.identity.identity import device_of
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.state.rollups import RATIO
from esewatch.fold.state.state import Database, Host, State

_WINDOWS = re.compile(r"[a-z]:\\|\\\\")

LOGMAN = (
    "logman create counter esewatch -f csv -si 15 -o C:\\perf\\esewatch -c"
    ' "\\{0} ==> Instances(*)\\*" "\\{0}(*)\\*"'
)
"""Begins a log of all counters of an object ({0}); then `logman start esewatch`."""

_JOB = {"ESE": "MSExchange Database", "ESENT": "Database"}


class Known(msgspec.Struct, frozen=True, kw_only=True):
    database: Database
    tier: str
    member: Member
    unlogged: str
    """Events that its scans must have logged, and that the log does not have; empty if none."""


def of_databases(
    state: State,
    settings: Settings,
    known: Sequence[Known],
    hidden: Iterable[Hidden],
    rules: RuleSettings,
) -> Iterator[Problem]:
    watched = [each for each in known if each.tier == "watched"]
    on = Counter(each.database.computer for each in watched if each.member.model == "window")
    for each in watched:
        yield from _window(each, settings, rules)
        volumes = host.volumes if (host := state.hosts.get(each.database.computer)) else {}
        if device_of(each.database, volumes, settings) is None:
            yield _device(each, on, rules)
        yield from _level(each)
    yield from _counters(state, watched, {each.computer: each for each in hidden})
    yield from _namesakes(state, settings)
    for _, host in sorted(state.hosts.items()):
        yield from _names(host, state, settings)
    if state.databases or state.sql_databases:
        yield from _unused(settings, rules)


def on_windows(database: Database) -> bool:
    """True if its path is one of Windows; the bundled engine runs elsewhere too."""
    return _WINDOWS.match(database.database) is not None


def _window(each: Known, settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    database = each.database
    window = window_for(settings, database.database, database.computer)
    if each.member.model != "window" or window is not None:
        return
    named = sorted(settings.windows)
    yield about(
        database,
        "window_unknown",
        "its maintenance window is not known: its length is not judged, and a "
        "stopped pass counts as running for 7 days",
        command="Get-MailboxDatabase -Status | ConvertTo-Json -Depth 4 > databases.json"
        if on_windows(database) and database.provider.upper() == "ESE"
        else "",
        setting=rules.setting(database, "window_unknown", window=named[0] if named else "nightly"),
        needs_person=True,
    )


def _device(each: Known, on: Counter[str], rules: RuleSettings) -> Problem:
    database = each.database
    beside = on[database.computer] > 1 and each.member.model == "window"
    why = ": whether scans slow each other is not judged" if beside else ""
    return about(
        database,
        "device_unknown",
        f"its disk is not known{why}",
        command="Get-Partition | Format-Table DriveLetter,DiskNumber"
        if on_windows(database)
        else "lsblk -o NAME,WWN,SERIAL,MOUNTPOINT",
        setting=rules.setting(database, "device_unknown", device="lun7"),
        needs_person=beside,
    )


def _level(each: Known) -> Iterator[Problem]:
    """Passes must have been resumed or progress reported, and no event says so: the level is too
    low."""
    if not each.unlogged:
        return
    yield about(
        each.database,
        "event_level_low",
        f"scans took long enough for the events {each.unlogged}, and none is in the log: "
        "the application that opens the database sets JET_paramEventLoggingLevel below 50 "
        "(medium), or they are filtered on their way here. Passes are followed without them, "
        "progress in between is not known",
        command="wevtutil qe Application "
        '"/q:*[System[(EventID=719 or EventID=738 or EventID=744)]]" /c:1 /rd:true /f:text',
    )


def _counters(
    state: State, watched: Iterable[Known], hidden: Mapping[str, Hidden]
) -> Iterator[Problem]:
    """Computers that hide counters, then those that have none, then single instances."""
    on: dict[str, list[Known]] = {}
    for each in watched:
        on.setdefault(each.database.computer, []).append(each)
    sampled: dict[str, set[str]] = {}
    for (computer, name), instance in state.instances.items():
        if instance.counters or instance.levels:
            sampled.setdefault(computer, set()).add(name)
    for computer in sorted({*on, *hidden}):
        models = {each.member.model for each in on.get(computer, ())}
        if computer in hidden:
            yield from _hidden(hidden[computer], models)
        elif computer not in sampled:
            yield _none_sampled(computer, on[computer])
        else:
            yield from _not_sampled(state, on.get(computer, ()), sampled[computer])


def _hidden(hidden: Hidden, models: Set[str]) -> Iterator[Problem]:
    asked = (ONLINE_DEFRAG in hidden.counters and "window" in models) or (
        DATABASE_MAINTENANCE in hidden.counters and bool(models & {"window", "background"})
    )
    names = " and ".join(hidden.counters)
    for command in [each.show for each in commands_of(hidden)] or [""]:
        yield Problem(
            problem="counters_hidden",
            computer=hidden.computer,
            sentence=f"its counters {names} are hidden or not collected: no ratio, or no speed of "
            "the scan. After the command restart the counter log (logman stop esewatch, then "
            "logman start esewatch)",
            command=command,
            needs_person=asked,
        )


def _none_sampled(computer: str, known: Sequence[Known]) -> Problem:
    library = "ESE" if known[0].database.provider.upper() == "ESE" else "ESENT"
    return Problem(
        problem="counters_missing",
        computer=computer,
        sentence=f"no counters of it are read ({counted(len(known), 'database')}): no ratio, no "
        "latencies, no cache. Log them with the command and name the files in a source "
        "perfmon_csv, or read its windows_exporter with the setting",
        command=LOGMAN.format(_JOB[library]),
        setting=endpoint_setting(computer),
        needs_person=any(each.member.model == "window" for each in known),
    )


def _not_sampled(state: State, known: Iterable[Known], sampled: set[str]) -> Iterator[Problem]:
    for each in known:
        database = each.database
        instance = state.instances.get(instance_key(database))
        if each.member.model != "window" or (
            instance is not None and instance.totals.keys() >= RATIO
        ):
            continue
        there = listed_names(sorted(sampled))
        yield about(
            database,
            "counters_missing",
            "pages read and freed of its instance "
            f"{instance_label(database) or '(not told by its events)'} are not sampled; counters "
            f"are read of {there}",
            needs_person=True,
        )


def _namesakes(state: State, settings: Settings) -> Iterator[Problem]:
    for each in namesakes(state.hosts, settings):
        other = each.others[0]
        alias = f"computers: {{{quoted(other)}: {quoted(each.keeper)}}}"
        yield Problem(
            problem="computer_ambiguous",
            computer=each.short,
            sentence=f"{each.sentence}. If they are one:",
            setting=alias if (other + each.keeper).isprintable() else "",
            needs_person=False,
        )


def _names(host: Host, state: State, settings: Settings) -> Iterator[Problem]:
    whole = settings.computer_label == "fqdn"
    if whole and "." not in host.computer and ":" not in host.computer:
        longer = sorted(name for name in state.hosts if name.startswith(host.computer + "."))
        if longer:
            yield Problem(
                problem="computer_ambiguous",
                computer=host.computer,
                sentence=f"a source names it without a domain, others name {listed_names(longer)}"
                f": {'it is' if len(longer) == 1 else 'which it is is not known, so it is'} "
                "taken for another computer",
                setting=f"computers: {{{quoted(host.computer)}: {quoted(longer[0])}}}"
                if (host.computer + longer[0]).isprintable()
                else "",
            )


def _unused(settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    """Rules of `databases` that fit no database that is known."""
    for rule in settings.databases:
        if not rules.is_used(rule):
            of = f" on {rule.computer}" if rule.computer else ""
            yield Problem(
                problem="rule_unused",
                computer=rule.computer or "",
                database=rule.match,
                sentence=f"this rule of `databases` matches no database that was seen{of}, or an "
                "earlier rule matches it first",
                needs_person=False,
            )
