"""All problems, with their fixes: the list of the status page and of `doctor`.

A pure function of (state, settings, now), like the figures: missing counters, windows, devices,
names and events. Problems that only a check of files and processes finds are found by the command
`doctor` and are not on the page.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from esewatch.advice.base.finding import counted
from esewatch.advice.history.copies import copies_of
from esewatch.advice.history.derived import Derived
from esewatch.advice.judgement import Judgement
from esewatch.advice.not_judged import never_proven, never_proven_text, not_heard
from esewatch.config import Settings, rule_for, window_for
from esewatch.ese.counters.counter_commands import (
    LIBRARIES,
    CounterCommands,
    counter_commands,
    library_of,
)
from esewatch.ese.counters.counter_feeds import DATABASE_MAINTENANCE, ONLINE_DEFRAG
from esewatch.ese.counters.counter_names import Library
from esewatch.expose.formatting import tidy
from esewatch.expose.pages.problems.problem import (
    Problem,
    RuleSettings,
    about,
    endpoint_setting,
    in_order,
    listed_names,
    quoted,
)
from esewatch.expose.pages.problems.source_problems import of_sources
from esewatch.fold.identity.entities import namesakes
from esewatch.fold.identity.identity import device_of
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.instances.counters import counters_present
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import RATIO
from esewatch.fold.state.state import Database, Host, State

MAX_NAMED = 50


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    computer: str
    counters: tuple[str, ...]
    libraries: tuple[Library, ...]
    """The processes that serve the known databases; empty when none is known."""


class HiddenGroup(msgspec.Struct, frozen=True, kw_only=True):
    computers: tuple[str, ...]
    """The first of them."""
    more: int
    counters: tuple[str, ...]
    commands: tuple[CounterCommands, ...]
    """One for each library that serves databases there; of both where no database is known."""


_WINDOWS = re.compile(r"[a-z]:\\|\\\\")

LOGMAN = (
    "logman create counter esewatch -f csv -si 15 -o C:\\perf\\esewatch -c"
    ' "\\{0} ==> Instances(*)\\*" "\\{0}(*)\\*"'
)
"""Begins a log of all counters of an object ({0}); then `logman start esewatch`."""

_JOB = {"ESE": "MSExchange Database", "ESENT": "Database"}


class Known(NamedTuple):
    database: Database
    facts: Derived


def diagnose(
    state: State,
    settings: Settings,
    now: float,
    known: Sequence[Known],
    hidden: Iterable[Hidden],
    *,
    advice: Sequence[Judgement],
) -> tuple[Problem, ...]:
    """All problems, those that need a person first. `known` are the databases that are shown,
    `hidden` the hidden counters, `advice` the judgements of all."""
    rules = RuleSettings(settings, state)
    return in_order(
        [
            *of_sources(state, settings, now),
            *of_databases(state, settings, known, hidden, rules),
            *of_figures(state, settings, known, rules),
            *of_verification(never_proven(advice)),
            *of_silence(advice),
        ]
    )


def hidden_counters(state: State) -> tuple[Hidden, ...]:
    present = counters_present(state)
    serving: dict[str, set[Library]] = {}
    for database in state.databases.values():
        serving.setdefault(database.computer, set()).add(library_of(database.provider))
    return tuple(
        Hidden(
            computer=tidy(host.computer),
            counters=tuple(tidy(name) for name in names),
            libraries=tuple(sorted(serving.get(host.computer, ()))),
        )
        for key, host in sorted(state.hosts.items())
        if (names := sorted(name for name, there in present[key].items() if not there))
    )


def grouped(hidden: Iterable[Hidden]) -> list[HiddenGroup]:
    """Computers with the same commands together, so that a farm has few groups."""
    found: dict[tuple[object, ...], list[Hidden]] = {}
    for each in hidden:
        found.setdefault((each.counters, each.libraries), []).append(each)
    return [
        HiddenGroup(
            computers=tuple(each.computer for each in members[:MAX_NAMED]),
            more=max(0, len(members) - MAX_NAMED),
            counters=members[0].counters,
            commands=commands_of(members[0]),
        )
        for members in found.values()
    ]


def commands_of(hidden: Hidden) -> tuple[CounterCommands, ...]:
    told = [counter_commands(hidden.counters, each) for each in hidden.libraries or LIBRARIES]
    return tuple(each for each in told if each is not None)


def of_databases(
    state: State,
    settings: Settings,
    known: Sequence[Known],
    hidden: Iterable[Hidden],
    rules: RuleSettings,
) -> Iterator[Problem]:
    watched = [each for each in known if each.facts.tier == "watched"]
    on = Counter(each.database.computer for each in watched if each.facts.member.model == "window")
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
    if each.facts.member.model != "window" or window is not None:
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
    beside = on[database.computer] > 1 and each.facts.member.model == "window"
    why = ": whether scans slow each other is not judged" if beside else ""
    return about(
        database,
        "device_unknown",
        f"its disk is not known{why}",
        command="Get-Partition | Format-Table DriveLetter,DiskNumber"
        if on_windows(database)
        else "lsblk -o NAME,WWN,SERIAL,MOUNTPOINT",
        setting=rules.setting(database, "device_unknown", unknown="device: <its disk>"),
        needs_person=beside,
    )


def _level(each: Known) -> Iterator[Problem]:
    """Passes must have been resumed or progress reported, and no event says so: the level is too
    low."""
    if not each.facts.unlogged:
        return
    yield about(
        each.database,
        "event_level_low",
        f"scans took long enough for the events {each.facts.unlogged}, and none is in the log: "
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
        models = {each.facts.member.model for each in on.get(computer, ())}
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
        needs_person=any(each.facts.member.model == "window" for each in known),
    )


def _not_sampled(state: State, known: Iterable[Known], sampled: set[str]) -> Iterator[Problem]:
    for each in known:
        database = each.database
        instance = state.instances.get(instance_key(database))
        if each.facts.member.model != "window" or (
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


def of_verification(unproven: Sequence[DatabaseKey]) -> Iterator[Problem]:
    """One problem for the whole estate, where there is one: nobody has to fix it."""
    if unproven:
        yield Problem(
            problem="never_verified",
            sentence=never_proven_text(unproven),
            setting=_scan_setting(unproven),
            needs_person=False,
        )


def of_silence(advice: Sequence[Judgement]) -> Iterator[Problem]:
    for computer, found in not_heard(advice).items():
        yield Problem(
            problem="computer_silent",
            computer=computer,
            sentence=found.sentence,
        )


def _scan_setting(keys: Sequence[DatabaseKey]) -> str:
    """The source that scans a snapshot of the first; empty where a name cannot stand there."""
    computer, label = keys[0]
    if not (computer + label).isprintable():
        return ""
    others = "   # and one for each of the others" if len(keys) > 1 else ""
    return (
        f"sources: [{{type: page_scan, paths: [/snap/ntds.dit], computer: {quoted(computer)}, "
        f"as: {quoted(label)}}}]{others}"
    )


_EXCHANGE = ("msexchangeis", "information store", "microsoft.exchange.store")


def of_figures(
    state: State, settings: Settings, known: Sequence[Known], rules: RuleSettings
) -> Iterator[Problem]:
    watched = [each for each in known if each.facts.tier == "watched"]
    yield from _roles(watched, rules)
    for each in watched:
        yield from _log_folder(each, settings, rules)
        yield from _mailboxes(each, settings, rules)
        yield from _disk(each, state, settings)


def _roles(watched: Sequence[Known], rules: RuleSettings) -> Iterator[Problem]:
    members = [each.facts.member for each in watched]
    shared = copies_of(members)
    number = Counter(shared)
    configured = {key for key, each in zip(shared, members, strict=True) if each.copies}
    for each, member, key in zip(watched, members, shared, strict=True):
        if member.role or key is None:
            continue
        # By name and path alone servers that have nothing to do with one another are alike.
        if key in configured or (member.named and number[key] > 1):
            yield about(
                each.database,
                "copy_role_unknown",
                "it has copies, and no event shows whether it is the active one: comparisons "
                "across copies leave it out",
                setting=rules.setting(
                    each.database, "copy_role_unknown", unknown="role: <its role>"
                ),
            )


def _log_folder(each: Known, settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    database = each.database
    rule = rule_for(settings, database.computer, database.database)
    if (rule is None or rule.log_path is None) and each.facts.member.model == "window":
        yield about(
            database,
            "log_folder_unknown",
            "the folder of its transaction logs is not known: no forecast of when their "
            "disk is full",
            setting=rules.setting(database, "log_folder_unknown", unknown="log_path: <its folder>"),
        )


def _mailboxes(each: Known, settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    database = each.database
    rule = rule_for(settings, database.computer, database.database)
    if database.process.lower().startswith(_EXCHANGE) and (rule is None or rule.mailboxes is None):
        yield about(
            database,
            "mailboxes_unknown",
            "its number of mailboxes is not known: its cache is not judged",
            setting=rules.setting(database, "mailboxes_unknown", unknown="mailboxes: <number>"),
            command="(Get-Mailbox -Database NAME -ResultSize Unlimited).Count",
        )


def _disk(each: Known, state: State, settings: Settings) -> Iterator[Problem]:
    database = each.database
    host = state.hosts.get(database.computer)
    device = device_of(database, host.volumes if host is not None else {}, settings)
    if device is None or (database.computer, device) in state.devices:
        return
    exporter = endpoint_setting(database.computer)
    yield about(
        database,
        "disk_counters_missing",
        f"no counters of its disk {device} are read: no throughput and no latency of it",
        setting=exporter if on_windows(database) else "sources: [{type: disks}]",
    )
