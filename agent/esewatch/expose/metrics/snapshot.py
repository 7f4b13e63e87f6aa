"""The families of the program itself, and the snapshot of all that scrapes render."""

import gzip
import platform
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from prometheus_client import Histogram, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from esefiles import __version__
from esefiles.pages import kernels
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.metrics.samples import Lines, Samples, rendered

COMMIT_DURATION = CATALOGUE["esewatch_journal_commit_duration_seconds"]
COMMIT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

OPENMETRICS = "application/openmetrics-text"
TEXT = "text/plain"


def commit_histogram() -> Histogram:
    """The histogram of journal commit durations, in seconds; its owner observes each commit."""
    return Histogram(
        COMMIT_DURATION.name, COMMIT_DURATION.help, registry=None, buckets=COMMIT_BUCKETS
    )


def own_families(
    commits: Histogram,
    *,
    version: str = __version__,
    python_version: str = platform.python_version(),
    kernel: str = kernels.NAME,
    proc: str = "/proc",
) -> list[Metric]:
    """Families about the running program, fresh, sorted by name. Those of the process exist where
    the system has a `proc` file system."""
    out = Samples()
    build = {"version": version, "python_version": python_version, "kernel": kernel}
    out.add("esewatch_build_info", build, 1)
    for metric in (*commits.collect(), *ProcessCollector(proc=proc, registry=None).collect()):
        row = next(row for row in CATALOGUE.values() if row.family == metric.name)
        kept = [sample for sample in metric.samples if not sample.name.endswith("_created")]
        out.extend(row.name, kept)
    return out.families()


class Snapshot:
    """The lines of families at one moment, and their expositions, each joined once.

    Expositions that the previous snapshot was asked for are joined with it, so that a scrape does
    not wait for them; others when first asked for. Safe to share between threads.
    """

    def __init__(self, lines: Mapping[str, Sequence[bytes]]) -> None:
        self._lines = lines
        self._rendered: dict[tuple[str, str], bytes] = {}
        self._asked: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @classmethod
    def of(
        cls,
        metrics: Iterable[Metric],
        before: "Snapshot | None" = None,
        *,
        lines: Iterable[Lines] = (),
    ) -> "Snapshot":
        """The snapshot of these families and `lines`, which may have families in common; `before`
        is the one it replaces."""
        found: dict[str, list[bytes]] = {}
        for metric in metrics:
            found.setdefault(_BY_FAMILY[metric.name], []).append(rendered(metric.samples))
        for part in lines:
            for name, each in part.items():
                found.setdefault(name, []).append(each)
        made = cls(found)
        for form in sorted(before._asked) if before is not None else ():
            made._body(*form)
        return made

    def render(self, accept: str = "", accept_encoding: str = "") -> tuple[bytes, str, str]:
        """(body, content type, content encoding) for the values of a request's headers. OpenMetrics
        1.0.0 where the client prefers it, else text 0.0.4; the encoding is `gzip` or empty."""
        media_type = OPENMETRICS if _prefers_openmetrics(accept) else TEXT
        encoding = "gzip" if _accepts_gzip(accept_encoding) else ""
        with self._lock:
            self._asked.add((media_type, encoding))
            return self._body(media_type, encoding), choose_encoder(media_type)[1], encoding

    def _body(self, media_type: str, encoding: str) -> bytes:
        body = self._rendered.get((media_type, encoding))
        if body is None:
            if encoding:
                body = gzip.compress(self._body(media_type, ""), compresslevel=1, mtime=0)
            else:
                body = b"".join(self._parts(openmetrics=media_type == OPENMETRICS))
            self._rendered[media_type, encoding] = body
        return body

    def _parts(self, *, openmetrics: bool) -> Iterator[bytes]:
        for name in sorted(self._lines, key=lambda name: CATALOGUE[name].family):
            yield _head(name, openmetrics=openmetrics)
            yield from self._lines[name]
        if openmetrics:
            yield b"# EOF\n"


_BY_FAMILY = {row.family: name for name, row in CATALOGUE.items()}


@cache
def _head(name: str, *, openmetrics: bool) -> bytes:
    """Text calls a counter by its sample, OpenMetrics by its family; the latter has a unit."""
    row = CATALOGUE[name]
    called = row.family if openmetrics else name
    told = row.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        told = told.replace('"', r"\"")
    head = f"# HELP {called} {told}\n# TYPE {called} {row.type}\n"
    if openmetrics and row.unit:
        head += f"# UNIT {called} {row.unit}\n"
    return head.encode()


_QUALITY = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


def _choices(header: str) -> Iterable[tuple[str, dict[str, str], float]]:
    """(value, parameters, quality) of each item of an Accept header; an ill-formed quality is 0."""
    for item in header.split(","):
        value, *parameters = (part.strip() for part in item.split(";"))
        named = dict(part.split("=", 1) for part in parameters if "=" in part)
        quality = _QUALITY.fullmatch(f"q={named.pop('q', '1')}")
        yield value.lower(), named, float(quality[1]) if quality else 0.0


def _prefers_openmetrics(accept: str) -> bool:
    openmetrics = text = 0.0
    for value, parameters, quality in _choices(accept):
        if value == OPENMETRICS:
            if parameters.get("version", "1.0.0") == "1.0.0":
                openmetrics = max(openmetrics, quality)
        elif value == TEXT and parameters.get("version", "0.0.4") == "0.0.4":
            text = max(text, quality)
    return openmetrics > 0 and openmetrics >= text


def _accepts_gzip(accept_encoding: str) -> bool:
    return any(
        value in ("gzip", "x-gzip") and quality > 0
        for value, _, quality in _choices(accept_encoding)
    )
