"""All problems, with their fixes: the list of the status page and of `doctor`.

A pure function of (state, settings, now), like the figures. Problems that only a check of files
and processes finds are found by the command `doctor` and are not on the page.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from esewatch.advice.blind_places import not_heard
from esewatch.advice.history.copies import copies_of
from esewatch.advice.judgement import Judgement
from esewatch.advice.not_judged import never_proven, never_proven_text
from esewatch.config import Settings, rule_for
from esewatch.expose.pages.hidden_counters import Hidden
from esewatch.expose.pages.problems.database_problems import Known, of_databases, on_windows
from esewatch.expose.pages.problems.problem import (
    Problem,
    about,
    endpoint_setting,
    in_order,
    quoted,
)
from esewatch.expose.pages.problems.rule_settings import RuleSettings
from esewatch.expose.pages.problems.source_problems import of_sources
from esewatch.fold.identity.identity import device_of
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State


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
            needs_person=found.severity != "info",
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
    watched = [each for each in known if each.tier == "watched"]
    yield from _roles(watched, rules)
    for each in watched:
        yield from _log_folder(each, settings, rules)
        yield from _mailboxes(each, settings, rules)
        yield from _disk(each, state, settings)


def _roles(watched: Sequence[Known], rules: RuleSettings) -> Iterator[Problem]:
    members = [each.member for each in watched]
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
                setting=rules.setting(each.database, "copy_role_unknown", role="passive"),
            )


def _log_folder(each: Known, settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    database = each.database
    rule = rule_for(settings, database.computer, database.database)
    if (rule is None or rule.log_path is None) and each.member.model == "window":
        yield about(
            database,
            "log_folder_unknown",
            "the folder of its transaction logs is not known: no forecast of when their "
            "disk is full",
            setting=rules.setting(database, "log_folder_unknown", log_path="L:\\SG06"),
        )


def _mailboxes(each: Known, settings: Settings, rules: RuleSettings) -> Iterator[Problem]:
    database = each.database
    rule = rule_for(settings, database.computer, database.database)
    if database.process.lower().startswith(_EXCHANGE) and (rule is None or rule.mailboxes is None):
        yield about(
            database,
            "mailboxes_unknown",
            "its number of mailboxes is not known: its cache is not judged",
            setting=rules.setting(database, "mailboxes_unknown", mailboxes=800),
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
