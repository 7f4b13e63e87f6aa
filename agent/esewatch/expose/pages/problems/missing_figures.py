"""Requirements of single figures: a setting, a backup, the counters of a disk. All are notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from esewatch.advice.history.copies import copies_of
from esewatch.config import Settings, policy_for, rule_for
from esewatch.expose.pages.problems.database_problems import Known, on_windows
from esewatch.expose.pages.problems.problem import (
    Problem,
    about,
    endpoint_setting,
)
from esewatch.expose.pages.problems.rule_settings import RuleSettings
from esewatch.fold.identity.identity import device_of
from esewatch.fold.identity.owners import instance_key, process_key
from esewatch.fold.state.state import Host, Instance, State

_EXCHANGE = ("msexchangeis", "information store", "microsoft.exchange.store")
_NEVER = float("inf")


def of_figures(
    state: State, settings: Settings, known: Sequence[Known], rules: RuleSettings
) -> Iterator[Problem]:
    """Problems of each watched database."""
    watched = [each for each in known if each.tier == "watched"]
    yield from _roles(watched, rules)
    for each in watched:
        yield from _log_folder(each, settings, rules)
        yield from _mailboxes(each, settings, rules)
        yield from _disk(each, state, settings)
        yield from _backup(each, state, settings, rules)


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


def _backup(
    each: Known, state: State, settings: Settings, rules: RuleSettings
) -> Iterator[Problem]:
    database = each.database
    keys = (instance_key(database), process_key(database))
    instances = [state.instances[key] for key in keys if key in state.instances]
    asked = policy_for(settings, database.database, database.computer).backup_within != _NEVER
    if asked and not _backed_up(instances, state.hosts.get(database.computer)):
        yield about(
            database,
            "backup_unseen",
            "no backup of its instance is known: there is none, or its events do not arrive. "
            "If none is needed:",
            setting=rules.setting(database, "backup_unseen", policy={"backup_within": _NEVER}),
        )


def _backed_up(instances: Iterable[Instance], host: Host | None) -> bool:
    if host is not None and host.backup_sets:
        return True
    return any(each.backup_events or each.backup_totals or each.backup_sets for each in instances)
