"""Links to the runbooks that apply to a database."""

from collections.abc import Mapping, Sequence

from esewatch.advice.base.finding import Cause, DetailName, Finding, FindingName
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
_DAMAGE: Mapping[FindingName, str] = {
    "copy_divergence": "EseCopyDivergence",
    "logical_damage": "EseLogicalCorruption",
    "copy_suspect": "EseCopyDivergence",
}
_NAMED_ONLY: Mapping[DamageKind, str] = {
    "revert_snapshot": "EseCopyDivergence",
    "index": "EseEngineFailure",
}
"""Damage that has no finding of its own: `investigate` names it."""
_FINDINGS: Mapping[FindingName, str] = {
    "backup_overlaps": "EseMaintenanceStopsEarly",
    "cache_small": "EseLatencyHigh",
    "defrag_overdue": "EseDefragIncomplete",
    "engine_failure": "EseEngineFailure",
    "never_verified": "EseVerificationOverdue",
    "not_heard": "EsewatchComputerSilent",
    "not_restorable": "EseNoRestorableCopy",
    "only_active_verified": "EseVerificationOverdue",
    "only_passive_verified": "EseVerificationOverdue",
    "restored_unproven": "EseVerificationOverdue",
    "scan_off": "EseVerificationAtRisk",
    "scan_stalled": "EseVerificationAtRisk",
    "scans_collide": "EseScansCollide",
    "scans_do_not_fit": "EseScansCollide",
    "stops_early": "EseMaintenanceStopsEarly",
    "unknown_since": "EsewatchRecordsMissed",
    "verification_overdue": "EseVerificationOverdue",
    "verification_unreadable": "EseVerificationOverdue",
}
_DETAILS: Mapping[DetailName, str] = {
    "backup_missing": "EseBackupMissing",
    "defrag_ratio_drift": "EseDefragRatioDrift",
    "no_restorable_copy": "EseNoRestorableCopy",
}
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
    found += _damage(findings)
    for each in findings:
        finding, causes = each.finding, each.causes
        if finding == "writes_at_risk":
            told = [name for kind, name in _RISKS.items() if kind in causes]
            found += told or ["EseVersionBucketsHigh"]
        elif finding == "investigate" and "io" in causes:
            found.append("EseIoError")
        elif finding in _FINDINGS:
            found.append(_FINDINGS[finding])
    details = figures.advice.details if figures.advice is not None else ()
    found += [_DETAILS[each.finding] for each in details if each.finding in _DETAILS]
    found += stale_runbooks(figures.stale)
    for forecast in figures.advice.forecasts if figures.advice is not None else ():
        if forecast.late:
            defrag = forecast.task == "defrag"
            found.append("EseDefragIncomplete" if defrag else "EseVerificationAtRisk")
    return tuple(dict.fromkeys(found))


def _damage(findings: Sequence[Finding]) -> list[str]:
    """Of damage that is no bad page, worst first."""
    causes = {each.finding: each.causes for each in findings}
    found = [_DAMAGE[finding] for finding in _DAMAGE if finding in causes]
    named = causes.get("investigate", ())
    return found + [name for kind, name in _NAMED_ONLY.items() if kind in named]
