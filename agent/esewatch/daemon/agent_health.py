"""Health of the agent itself: commits of its journal, reloads of its configuration."""

from typing import Literal, Protocol, get_args

from prometheus_client.core import Metric

from esewatch.expose.formatting import iso_time
from esewatch.expose.metrics.collectors.samples import Samples
from esewatch.expose.metrics.snapshot import commit_histogram, own_families
from esewatch.fold.state.rebuilt import unrebuilt
from esewatch.fold.state.state import SourceState

Part = Literal["fold", "source", "journal", "metrics", "advice", "other"]
"""Failures of parts of the program: one that fails costs the others nothing."""
PARTS: tuple[Part, ...] = get_args(Part)


def rebuilt_sentence(source: SourceState) -> str:
    """The result of reading the source again after the journal was damaged."""
    lost = unrebuilt(source)
    if lost is None:
        return "all sources were read again, nothing is missing"
    since = iso_time(lost.since) or "an unknown time"
    return f"not rebuilt: records from {since} to {iso_time(lost.until)} are no longer there"


class TakenUp(Protocol):
    """Settings that are reloaded when they change."""

    successful: bool
    """True if the settings in use are the current ones."""
    taken_up: float
    """Since when the settings in use hold."""


class AgentHealth:
    """Counts over the life of the process. `now` is when the configuration was first read."""

    def __init__(self, now: float, web: TakenUp | None = None) -> None:
        self._web = web
        self.commits = commit_histogram()
        self.commit_failures = 0
        self.internal_errors = dict.fromkeys(PARTS, 0)
        """Part -> number of its failures."""
        self._reload_successful = True
        self._reloaded = now
        self.external_url = ""
        """The address of its pages; empty while it serves nothing."""

    def reloaded(self, now: float) -> None:
        self._reload_successful = True
        self._reloaded = now

    def reload_failed(self) -> None:
        self._reload_successful = False

    def everything(self, made: float, journal_set_aside: float | None) -> list[Metric]:
        """Return all families about the running program; the arguments as in `families`."""
        return [*own_families(self.commits), *self.families(made, journal_set_aside)]

    def families(self, made: float, journal_set_aside: float | None = None) -> list[Metric]:
        """Return the families other than the commit histogram, fresh, sorted by name. `made` is
        when the snapshot was made, `journal_set_aside` when a damaged journal was last set aside,
        None for never."""
        out = Samples()
        out.add("esewatch_snapshot_timestamp_seconds", {}, made)
        if self.external_url:
            out.add("esewatch_web_info", {"external_url": self.external_url}, 1)
        out.add("esewatch_config_last_reload_successful", {}, int(self._reload_successful))
        out.add("esewatch_config_last_reload_success_timestamp_seconds", {}, self._reloaded)
        if self._web is not None:
            successful, taken_up = int(self._web.successful), self._web.taken_up
            out.add("esewatch_web_config_last_reload_successful", {}, successful)
            out.add("esewatch_web_config_last_reload_success_timestamp_seconds", {}, taken_up)
        out.add("esewatch_journal_commit_failures_total", {}, self.commit_failures)
        for part, count in self.internal_errors.items():
            out.add("esewatch_internal_errors_total", {"part": part}, count)
        out.add("esewatch_journal_set_aside_timestamp_seconds", {}, journal_set_aside)
        return out.families()
