"""Online defragmentation of mailboxes with much, some and little churn."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from eselab.lab.agent import Advice, Event
from eselab.lab.bench import DAY, Bench
from eselab.lab.frame import Comparison, Experiment, Findings, ResultRow, Signal, Span, told

DAYS: Final = 30.0
PAGES: Final = 4000

_HOUR: Final = 3600.0
_COMPLETED: Final = frozenset({701, 703})
_KIND: Final = "engine-counted"


class Churn(msgspec.Struct, frozen=True, kw_only=True):
    """A database, and what the article says of one like it."""

    name: str
    kept: float
    """Days until a message expires."""
    nights: float
    """That a pass takes, about."""
    ratio: Span | None
    """Published band of pages read for each page freed."""
    action: str
    """Published."""


CHURNS: Final = (
    Churn(name="quiet", kept=960.0, nights=4.0, ratio=Span(least=100.0), action="shrink"),
    Churn(name="steady", kept=300.0, nights=4.0, ratio=Span(least=50.0, most=100.0), action="keep"),
    Churn(name="busy", kept=112.0, nights=4.0, ratio=Span(most=50.0), action="grow"),
    Churn(name="nightly", kept=63.0, nights=0.83, ratio=None, action="shrink"),
)
_EXAMPLE: Final = "busy"
"""The churn beside which the article's event 703 is put."""


def configuration(pages: int) -> dict[str, Any]:
    """The window of all of them; the floor of the evidence is twice a database of that size."""
    return {
        "windows": {"nightly": {"start": "01:00", "duration": "4h"}},
        "databases": [{"match": "*.edb", "window": "nightly"}],
        "policy": {"min_pages_read": 2 * pages},
    }


def plan(pages: int) -> dict[str, Any]:
    """Databases of so many pages, with half a window of four hours for online defragmentation."""
    return {
        "databases": [
            {
                "name": churn.name,
                "pages": pages,
                "cache_pages": pages // 20,
                "window": {"offset": _HOUR, "length": 4 * _HOUR},
                "mail": {"kept": churn.kept},
                "defrag_pause": churn.nights * 2 * _HOUR / pages,
            }
            for churn in CHURNS
        ],
        "sample": 300.0,
    }


def run(bench: Bench, pages: int = PAGES, days: float = DAYS) -> Findings:
    """See EXPERIMENT. `pages`: of each database; `days`: of virtual time."""
    made = bench.engine("month", plan(pages), days * DAY)
    events = made.events()
    advice = {each.ese_instance: each for each in made.advice(configuration(pages))}
    rows: list[ResultRow] = []
    comparisons: list[Comparison] = []
    for churn in CHURNS:
        found = advice.get(churn.name)
        rows += _rows(churn, found, _last(events, churn.name))
        comparisons += _comparisons(churn, found)
    return Findings(rows=rows, comparisons=comparisons)


def _last(events: Iterable[Event], instance: str) -> Event | None:
    """Its last completed pass."""
    found = [e for e in events if e.event_id in _COMPLETED and e.ese_instance == instance]
    return found[-1] if found else None


def _rows(churn: Churn, advice: Advice | None, last: Event | None) -> list[ResultRow]:
    rows = [
        ResultRow(
            quantity="pages read for each page freed", case=churn.name, unit="pages", kind=_KIND,
            published=churn.ratio, ours=advice.ratio if advice else None,
        ),
        ResultRow(
            quantity="window", case=churn.name, unit="advice", kind=_KIND,
            published=churn.action, ours=advice.action if advice else None,
        ),
    ]  # fmt: skip
    example = churn.name == _EXAMPLE
    for field, quantity, unit, published in _FIELDS:
        value = last.fields.get(field) if last else None
        rows.append(
            ResultRow(
                quantity=quantity, case=churn.name, unit=unit, kind=_KIND,
                published=published if example else None,
                ours=float(value) if isinstance(value, int | float) else None,
            )
        )  # fmt: skip
    return rows


_FIELDS: Final[Sequence[tuple[str, str, str, float]]] = (
    ("pages_freed", "703: pages freed", "pages", 42_794.0),
    ("seconds", "703: work", "s", 124_919.0),
    ("invocations", "703: invocations", "windows", 7.0),
    ("days", "703: length of the pass", "d", 4.0),
    ("completions", "703: passes so far", "passes", 14.0),
    ("lifetime_days", "703: days of these passes", "d", 73.0),
)
"""Field of the event, and its value in the article's example."""


def _comparisons(churn: Churn, advice: Advice | None) -> list[Comparison]:
    because = " ".join(advice.reasons) if advice else "nothing is advised"
    found = [
        told(
            f"{churn.name}: advice for the window", _KIND, churn.action,
            advice.action if advice else None, why=because,
        )
    ]  # fmt: skip
    if churn.ratio is not None:
        found.append(
            told(
                f"{churn.name}: pages read for each page freed", _KIND, churn.ratio,
                advice.ratio if advice else None,
                why="messages of another age than was planned were freed",
            )
        )  # fmt: skip
    return found


EXPERIMENT: Final = Experiment(
    name="old-ratio",
    article="P1",
    question="Does the ratio of pages read to pages freed show how long the window should be?",
    setup=[
        f"A month of four databases of {PAGES:,} pages with a window of four hours each night, half"
        " of it for online defragmentation. Messages are kept 960 days (quiet), 300 (steady), 112"
        " (busy) and 63 (nightly).",
        "A pass takes about four nights, as in the article's event 703. In nightly it takes less"
        " than one night: in that case the article says that the window can shrink, whatever the"
        " ratio.",
        "Ratio and advice are the output of esewatch advise after that month; it requires at"
        f" least {2 * PAGES:,} pages read. The article's event 703 is compared with busy; its"
        " database is far larger.",
    ],
    steps=1,
    run=run,
    signals=[
        Signal(side="bad", case="quiet", action="shrink"),
        Signal(side="good", case="steady", action="keep"),
        Signal(side="bad", case="busy", action="grow"),
        Signal(side="bad", case="nightly", action="shrink"),
    ],
)
