"""Links to the runbooks that apply to a database."""

from collections.abc import Mapping, Sequence

from esewatch.advice.alerts import FRESH, HELD
from esewatch.advice.base.finding import Cause, FindingName
from esewatch.advice.judgement import UNFINISHED, UNREAD
from esewatch.advice.not_judged import MISSING, NOT_HEARD
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.fold.state.state import BadKind, DamageKind

_BAD_PAGES: Mapping[BadKind, str] = {
    "uncorrectable": "EseKnownBadPage",
    "wrong_page": "EseKnownBadPage",
    "no_data": "EseKnownBadPage",
    "lost_flush": "EseKnownBadPage",
    "corrected": "EseCorrectedPage",
}
_CARRIED: Mapping[str, str] = {
    finding: alert
    for alert, carried in (*HELD.items(), *((alert, [of]) for alert, of in FRESH.items()))
    for of in carried
    for finding in of.findings
}
"""Finding or detail -> the alert that carries it."""
_DAMAGE: Sequence[FindingName] = ("copy_divergence", "logical_damage", "copy_suspect")
"""Worst first."""
_NAMED_ONLY: Mapping[DamageKind, str] = {
    "revert_snapshot": "EseCopyDivergence",
    "index": "EseEngineFailure",
}
"""Damage that has no finding of its own: `investigate` names it."""
_FINDINGS: Mapping[FindingName, str] = {
    "cache_small": "EseLatencyHigh",
    "defrag_overdue": "EseDefragIncomplete",
    "not_heard": "EsewatchComputerSilent",
    "not_restorable": "EseNoRestorableCopy",
    "restored_unproven": "EseVerificationOverdue",
    "scan_off": "EseVerificationAtRisk",
    "scan_stalled": "EseVerificationAtRisk",
    "unknown_since": "EsewatchRecordsMissed",
}
"""Those that no alert carries by this name."""
_DETAILS = ("backup_missing", "defrag_ratio_drift", "no_restorable_copy")
"""Those that no finding sums up."""
_RISKS: Mapping[Cause, str] = {
    "log_sequence": "EseLogSequenceHalted",
    "recovery": "EseRecoveryFailed",
    "hung_io": "EseHungIo",
    "disk_full": "EseDiskFull",
    "log_disk_low": "EseLogDiskLow",
    "version_store": "EseVersionStoreFull",
    "database_full": "EseDatabaseFull",
    "database_nearly_full": "EseDatabaseFull",
}

_STALE = {
    NOT_HEARD: "EsewatchComputerSilent",
    UNREAD: "EsewatchRecordsMissed",
    UNFINISHED: "EsewatchBehind",
    MISSING: "EsewatchRecordsMissed",
}


def stale_runbooks(why: str) -> tuple[str, ...]:
    """The alerts whose runbooks apply where data is stale or missing for the reason `why`."""
    return tuple(dict.fromkeys(name for reason, name in _STALE.items() if reason in why))


def runbook_links(figures: DatabaseFigures) -> tuple[str, ...]:
    """Names of the alerts whose runbooks apply, each once, worst first."""
    found = [_BAD_PAGES[kind] for kind in _BAD_PAGES if kind in figures.bad_pages]
    findings = figures.advice.findings if figures.advice is not None else ()
    told = {each.finding: each.causes for each in findings}
    found += [_CARRIED[finding] for finding in _DAMAGE if finding in told]
    found += [name for kind, name in _NAMED_ONLY.items() if kind in told.get("investigate", ())]
    for each in findings:
        finding, causes = each.finding, each.causes
        if finding == "writes_at_risk":
            risks = [name for kind, name in _RISKS.items() if kind in causes]
            found += risks or ["EseVersionBucketsHigh"]
        elif finding == "investigate" and "io" in causes:
            found.append("EseIoError")
        elif alert := _FINDINGS.get(finding) or _CARRIED.get(finding):
            found.append(alert)
    details = figures.advice.details if figures.advice is not None else ()
    found += [_CARRIED[each.finding] for each in details if each.finding in _DETAILS]
    found += stale_runbooks(figures.stale)
    for forecast in figures.advice.forecasts if figures.advice is not None else ():
        if forecast.late:
            defrag = forecast.task == "defrag"
            found.append("EseDefragIncomplete" if defrag else "EseVerificationAtRisk")
    return tuple(dict.fromkeys(found))
