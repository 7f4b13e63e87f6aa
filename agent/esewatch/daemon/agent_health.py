"""Health of the agent itself: commits of its journal, reloads, internal errors."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, Protocol, get_args

from prometheus_client.core import Metric

from esefiles.base import crash
from esewatch.expose.formatting import iso_time
from esewatch.expose.metrics.samples import Samples
from esewatch.expose.metrics.snapshot import commit_histogram, own_families
from esewatch.fold.state.state import SourceState

Part = Literal["fold", "source", "journal", "metrics", "advice", "other"]
"""Failures of parts of the program: one that fails costs the others nothing."""
PARTS: tuple[Part, ...] = get_args(Part)


def rebuilt_sentence(source: SourceState) -> str:
    """The result of reading the source again after the journal was damaged."""
    lost = source.unrebuilt()
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


log = logging.getLogger(__name__)


class InternalErrors:
    """Counts internal errors by the part that failed, in `counts`. Each costs that part, is logged,
    and is retried."""

    def __init__(self, counts: dict[Part, int]) -> None:
        self.counts = counts
        self._told: dict[Part, str] = {}
        self._left_out: dict[Part, dict[tuple[str, str], str]] = {}

    def note(self, part: Part, error: Exception) -> None:
        """Count a failure; the first of several equal ones is logged, with its traceback."""
        crash.if_short(error)
        self.counts[part] += 1
        reason = f"unexpected {type(error).__name__}: {error}"
        if self._told.get(part) != reason:
            self._told[part] = reason
            log.error("%s: %s", part, reason)
            log.debug("%s", part, exc_info=error)

    def left_out(self, part: Part, odd: Mapping[tuple[str, str], Exception]) -> None:
        """Count the databases that the part was made without; each is logged once."""
        told = self._left_out.get(part, {})
        now = {key: f"unexpected {type(error).__name__}: {error}" for key, error in odd.items()}
        self._left_out[part] = now
        self.counts[part] += len(odd)
        for key, reason in now.items():
            if told.get(key) != reason:
                log.error("%s: without %s of %s: %s", part, key[1], key[0], reason)
                log.debug("%s", part, exc_info=odd[key])

    @contextmanager
    def held(self, part: Part) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.note(part, error)
        else:
            self._told.pop(part, None)
