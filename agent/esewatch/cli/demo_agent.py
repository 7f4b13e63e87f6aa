"""What the agent of the demo says: its API and its metrics, put together by database."""

import urllib.request
from collections.abc import Iterable
from http.client import HTTPException

import msgspec
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from esewatch.expose.ratio import Ratio

_SECONDS = 5.0
_UNPROXIED = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The agent is on this machine, whatever the environment says of proxies."""

_BY_TASK = {
    "ese_passes_completed_total": "completed",
    "ese_passes_interrupted_total": "interrupted",
    "ese_pass_pages_seen_total": "pages_seen",
    "ese_pass_last_work_seconds": "work_seconds",
}
_ERRORS = "ese_page_error_events_total"


class _Row(msgspec.Struct):
    computer: str
    database: str
    name: str
    ratio: Ratio = Ratio(verdict="none", sentence="")
    running: list[str] = []
    collisions: list[str] = []
    known_bad_pages: dict[str, int] = {}
    verified: dict[str, str] = {}


class _Answer(msgspec.Struct):
    databases: list[_Row]


class Figures(msgspec.Struct, kw_only=True):
    """One database, as the agent shows it."""

    ratio: Ratio = Ratio(verdict="none", sentence="")
    running: list[str] = []
    collisions: list[str] = []
    bad_pages: dict[str, int] = {}
    """By kind, those that stand."""
    verified: bool = False
    completed: dict[str, float] = {}
    """By task, like the next three."""
    interrupted: dict[str, float] = {}
    pages_seen: dict[str, float] = {}
    work_seconds: dict[str, float] = {}
    page_errors: dict[str, float] = {}
    """Events by kind, since the first one."""

    def scan_rate(self) -> float | None:
        """Pages a second of the checksum scan: those of a mean pass over the last one's work.

        None without a completed pass. Events tell whole seconds: less than one counts as one.
        """
        completed = self.completed.get("checksum", 0.0)
        seconds = self.work_seconds.get("checksum")
        if not completed or seconds is None:
            return None
        return self.pages_seen.get("checksum", 0.0) / completed / max(1.0, seconds)


def look(url: str) -> dict[str, Figures]:
    """The databases of the agent at `url` by name.

    Raises OSError when it does not answer, or not as the agent does.
    """
    try:
        return put_together(_get(f"{url}/api/v1/databases"), _get(f"{url}/metrics").decode())
    except (HTTPException, ValueError) as error:
        raise OSError(f"{url} is not the agent: {error}") from None


def put_together(databases: bytes, metrics: str) -> dict[str, Figures]:
    """Figures by name, of `/api/v1/databases` and the text of `/metrics`.

    Raises ValueError when they are none.
    """
    rows = msgspec.json.decode(databases, type=_Answer).databases
    found: dict[tuple[str, str], Figures] = {}
    named: dict[str, Figures] = {}
    for row in rows:
        named[row.name] = found[row.computer, row.database] = Figures(
            ratio=row.ratio,
            running=row.running,
            collisions=row.collisions,
            bad_pages=row.known_bad_pages,
            verified=bool(row.verified),
        )
    wanted = (*_BY_TASK, _ERRORS)
    text = "\n".join(line for line in metrics.splitlines() if line.startswith(wanted))
    families: Iterable[Metric] = text_string_to_metric_families(text + "\n")
    for family in families:
        for sample in family.samples:
            labels = sample.labels
            figures = found.get((labels.get("computer", ""), labels.get("database", "")))
            if figures is None:
                continue
            if sample.name == _ERRORS:
                figures.page_errors[labels["kind"]] = sample.value
            elif sample.name in _BY_TASK:
                getattr(figures, _BY_TASK[sample.name])[labels["task"]] = sample.value
    return named


def _get(url: str) -> bytes:
    with _UNPROXIED.open(url, timeout=_SECONDS) as answer:
        body: bytes = answer.read()
    return body
