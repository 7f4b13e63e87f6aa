"""The sentence on each database, as a real Prometheus makes it of samples written by hand."""

import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboards.sentence import ALONE, REASONS, sentence
from esewatch.advice.window_rules import RULES
from esewatch.expose.pictures.sentence import day_text
from esewatch.expose.words import duration
from tests.e2e.harness import Prometheus, get, serving
from tests.rules.quality.backfill import load
from tests.support.tools import require

NOW = datetime(2007, 6, 29, 12, tzinfo=UTC).timestamp()
HOUR, DAY = 3600.0, 86400.0
VARIABLE = re.compile(r"\$(job|instance|computer|ese_instance|database)\b")

Samples = dict[str, float]
"""Metric with its own labels -> value."""


def at(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


def info(name: str = "SG1", model: str = "window", page_size: str = "8192", **more: str) -> str:
    labels = {"ese_instance": name, "model": model, "page_size": page_size, **more}
    inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"ese_database_info{{{inside}}}"


def verified(by: str, time: float) -> Samples:
    return {f'ese_last_full_verification_timestamp_seconds{{by="{by}"}}': time}


def scanned(pages: int, time: float) -> Samples:
    return {
        'ese_pass_last_pages_seen{task="checksum"}': pages,
        'ese_pass_last_completion_timestamp_seconds{task="checksum"}': time,
    }


def bad(**kinds: int) -> Samples:
    return {f'ese_known_bad_pages{{kind="{kind}"}}': pages for kind, pages in kinds.items()}


def advice(action: str, reason: str, to: float | None = None, of: float | None = None) -> Samples:
    actions = ("shrink", "keep", "grow", "move", "insufficient_evidence", "not_applicable")
    found = {f'ese_window_advice{{action="{each}"}}': float(each == action) for each in actions}
    found[f'ese_window_advice_reason{{reason="{reason}"}}'] = 1.0
    if of is not None:
        found["ese_window_configured_seconds"] = of
    if to is not None:
        found["ese_window_recommended_seconds"] = to
    return found


GOOD = bad(uncorrectable=0, corrected=0, lost_flush=0)
ONLINE = verified("online_scan", at(2007, 6, 19, 3))
SHRINK = advice("shrink", "ratio_high", to=2.75 * HOUR, of=4 * HOUR)
KEEP = advice("keep", "otherwise", to=4 * HOUR, of=4 * HOUR)
WINDOW = "window 4 h, advice keep, because what it frees is worth what it reads."
BEHIND = {"esewatch_host_caught_up": 0.0, "esewatch_host_up": 1.0}
OLD = "known may be old, a source of its computer is behind"

CASES: Mapping[str, tuple[Samples, str]] = {
    "all is well": (
        {info(): 1, **GOOD, **ONLINE, **scanned(5850768, at(2007, 6, 19, 3)), **SHRINK},
        "All 5,850,768 pages verified 19 June by online scan; 0 bad;"
        " window 4 h, advice shrink to 2 h 45 min, because little is left to free.",
    ),
    "the number of pages is not known": (
        {info(): 1, **GOOD, **ONLINE, **KEEP},
        f"All pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
    "the last scan was not the proof": (
        {info(): 1, **GOOD, **ONLINE, **scanned(7, at(2007, 6, 20)), **KEEP},
        f"All pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
    "in another year": (
        {info(): 1, **GOOD, **verified("external", at(2006, 12, 31, 23, 59)), **KEEP},
        f"All pages verified 31 December 2006 by eseutil /k; 0 bad; {WINDOW}",
    ),
    "several verifiers": (
        {
            info(): 1,
            **GOOD,
            **ONLINE,
            **scanned(7, at(2007, 6, 19, 3)),
            **verified("page_scan", at(2007, 6, 20)),
            **KEEP,
        },
        f"All pages verified 20 June by page scan; 0 bad; {WINDOW}",
    ),
    "verifiers tie": (
        {info(): 1, **GOOD, **ONLINE, **verified("page_scan", at(2007, 6, 19, 3)), **KEEP},
        f"All pages verified 19 June by page scan; 0 bad; {WINDOW}",
    ),
    "overdue": (
        {
            info(): 1,
            **GOOD,
            **verified("online_scan", NOW - 17 * DAY - 3 * HOUR),
            **KEEP,
            'ese_finding{finding="verification_overdue"}': 1,
            "ese_verification_deadline_seconds": 7 * DAY,
        },
        "All pages last verified 12 June by online scan, 17 d 3 h ago:"
        f" overdue, the deadline is 7 d; 0 bad; {WINDOW}",
    ),
    "overdue without a known deadline": (
        {
            info(): 1,
            **GOOD,
            **verified("online_scan", NOW - 17 * DAY),
            **KEEP,
            'ese_finding{finding="verification_overdue"}': 1,
        },
        f"All pages last verified 12 June by online scan, 17 d ago: overdue; 0 bad; {WINDOW}",
    ),
    "events are missing": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, 'ese_finding{finding="unknown_since"}': 1},
        "Unknown: events are missing; all pages last verified 19 June by online scan;"
        f" no bad page is known; {WINDOW}",
    ),
    "events are missing and nothing verified it": (
        {info(): 1, **GOOD, **KEEP, 'ese_finding{finding="unknown_since"}': 1},
        "Unknown: events are missing; never seen verified: nothing proves its pages good;"
        f" {WINDOW}",
    ),
    "never verified": (
        {
            info(): 1,
            **scanned(1000000, NOW - 3 * DAY),
            "ese_database_first_seen_timestamp_seconds": NOW - 12.4 * DAY,
            **GOOD,
            **KEEP,
        },
        f"Never seen verified in 12 days: nothing proves its pages good; {WINDOW}",
    ),
    "never verified in a day": (
        {info(): 1, "ese_database_first_seen_timestamp_seconds": NOW - 1.5 * DAY, **KEEP},
        f"Never seen verified in 1 day: nothing proves its pages good; {WINDOW}",
    ),
    "never verified so far": (
        {info(): 1, "ese_database_first_seen_timestamp_seconds": NOW - HOUR, **KEEP},
        f"Never seen verified: nothing proves its pages good; {WINDOW}",
    ),
    "bad pages": (
        {info(): 1, **bad(uncorrectable=2, lost_flush=1, corrected=1), **ONLINE}
        | advice("keep", "bad_pages", to=HOUR, of=HOUR),
        "3 known bad pages; 1 corrected page; all pages verified 19 June by online scan;"
        " window 1 h, advice keep: what is damaged is to be looked into first.",
    ),
    "one bad page, never verified": (
        {
            info(): 1,
            **bad(wrong_page=1),
            "ese_database_first_seen_timestamp_seconds": NOW - 3 * DAY,
            **KEEP,
        },
        f"1 known bad page; never seen verified in 3 days: nothing proves its pages good; {WINDOW}",
    ),
    "many bad pages and missing events": (
        {
            info(): 1,
            **bad(uncorrectable=1234),
            **ONLINE,
            **KEEP,
            'ese_finding{finding="unknown_since"}': 1,
        },
        "1,234 known bad pages; unknown: events are missing; all pages last verified 19 June"
        f" by online scan; {WINDOW}",
    ),
    "corrected pages": (
        {info(): 1, **bad(uncorrectable=0, corrected=2), **ONLINE, **KEEP},
        f"2 corrected pages; all pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
    "writes at risk": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, 'ese_finding{finding="writes_at_risk"}': 1},
        f"Writes at risk; all pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
    "a source is behind": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, **BEHIND, 'ese_database_verdict{verdict="blind"}': 1},
        f"What is {OLD}; all pages verified 19 June by online scan; no bad page is known; {WINDOW}",
    ),
    "a source is down": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, "esewatch_host_caught_up": 1, "esewatch_host_up": 0},
        f"What is {OLD}; all pages verified 19 June by online scan; no bad page is known; {WINDOW}",
    ),
    "all sources are read to their end": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, "esewatch_host_caught_up": 1, "esewatch_host_up": 1},
        f"All pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
    "a source is behind and writes are at risk": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, **BEHIND}
        | {
            'ese_finding{finding="writes_at_risk"}': 1,
            'ese_database_verdict{verdict="writes_at_risk"}': 1,
        },
        f"Writes at risk; what is {OLD}; all pages verified 19 June by online scan;"
        f" no bad page is known; {WINDOW}",
    ),
    "a source is behind and verification is overdue": (
        {info(): 1, **GOOD, **verified("online_scan", NOW - 17 * DAY), **KEEP, **BEHIND}
        | {
            'ese_finding{finding="verification_overdue"}': 1,
            'ese_database_verdict{verdict="unverified"}': 1,
        },
        f"What is {OLD}; all pages last verified 12 June by online scan, 17 d ago: overdue;"
        f" no bad page is known; {WINDOW}",
    ),
    "a source is behind and nothing verified it": (
        {info(): 1, **GOOD, **KEEP, **BEHIND},
        f"What is {OLD}; never seen verified: nothing proves its pages good; {WINDOW}",
    ),
    "a source is behind and pages are bad": (
        {info(): 1, **bad(uncorrectable=2, corrected=1), **ONLINE, **KEEP, **BEHIND}
        | {'ese_database_verdict{verdict="bad_pages"}': 1},
        f"2 known bad pages; 1 corrected page; what is {OLD}; all pages verified 19 June by online"
        f" scan; {WINDOW}",
    ),
    "a source is behind and events are missing": (
        {info(): 1, **GOOD, **ONLINE, **KEEP, **BEHIND}
        | {
            'ese_finding{finding="unknown_since"}': 1,
            'ese_database_verdict{verdict="blind"}': 1,
        },
        f"What is {OLD}; unknown: events are missing; all pages last verified 19 June by online"
        f" scan; no bad page is known; {WINDOW}",
    ),
    "no window is configured": (
        {info(): 1, **GOOD, **ONLINE, **advice("shrink", "completes_often")},
        "All pages verified 19 June by online scan; 0 bad; no window configured,"
        " advice shrink, because passes complete every day or two.",
    ),
    "too little evidence": (
        {info(): 1, **GOOD, **ONLINE, **advice("insufficient_evidence", "evidence", of=45 * 60.0)},
        "All pages verified 19 June by online scan; 0 bad; window 45 min, no advice yet:"
        " there is too little evidence.",
    ),
    "no reason": (
        {
            info(): 1,
            **GOOD,
            **ONLINE,
            'ese_window_advice{action="grow"}': 1,
            "ese_window_configured_seconds": HOUR,
            "ese_window_recommended_seconds": 2 * HOUR,
        },
        "All pages verified 19 June by online scan; 0 bad; window 1 h, advice grow to 2 h.",
    ),
    "nothing but that it is there": (
        {info(): 1},
        "Never seen verified: nothing proves its pages good; no window configured, no advice yet.",
    ),
    "garbage collection": (
        {info("NTDSA", "garbage_collection"): 1, **GOOD}
        | verified("page_scan", at(2007, 6, 1))
        | advice("not_applicable", "cycles"),
        "All pages verified 1 June by page scan; 0 bad; no window: its garbage collection"
        " defragments it every 12 hours, as on a domain controller.",
    ),
    "background": (
        {
            info("DB1", "background", "32768"): 1,
            **scanned(67108864, at(2007, 2, 28)),
            **GOOD,
            **verified("online_scan", at(2007, 2, 28)),
            **advice("not_applicable", "scan_late"),
        },
        "All 67,108,864 pages verified 28 February by online scan; 0 bad;"
        " no window: its engine scans in the background, day and night.",
    ),
    "an observed database": (
        {info("Windows", "application", tier="observed"): 1},
        "Never seen verified: nothing proves its pages good;"
        " no window: its application decides when it is maintained.",
    ),
    "its traits changed just now": (
        {
            info(role="active"): 1,
            info(role="passive", model="window"): 1,
            **GOOD,
            **ONLINE,
            **KEEP,
            'ese_window_advice_reason{reason="ratio_low"}': 1,
        },
        f"All pages verified 19 June by online scan; 0 bad; {WINDOW}",
    ),
}


def lines(computer: str, databases: Sequence[str], samples: Samples) -> Iterator[tuple[str, str]]:
    """(family, line) of the samples of a computer and of each database on it.

    `computer`: labels of agent and computer.
    """
    for series, value in samples.items():
        name, _, inside = series.partition("{")
        own = [""] if name.startswith("esewatch_host_") else databases
        for database in own:
            place = f'database="{database}"' if database else ""
            labels = ",".join(part for part in (computer, place, inside.removesuffix("}")) if part)
            yield name, f"{name}{{{labels}}} {value} {NOW:.0f}"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Each case on its own computer, with two databases in an instance; the same of two agents."""
    require("prometheus")
    folder: Path = tmp_path_factory.mktemp("sentence")
    found: list[tuple[str, str]] = []
    for agent in ("one:19703", "two:19703"):
        for name, (samples, _) in CASES.items():
            computer = f'job="esewatch",instance="{agent}",computer="{name}"'
            databases = [f"f:\\\\{name}\\\\{number}.edb" for number in "12"]
            found += lines(computer, databases, samples)
    text = folder / "samples.txt"
    with text.open("w") as file:
        for family in sorted({name for name, _ in found}):
            file.write(f"# TYPE {family} gauge\n")
            file.writelines(f"{line}\n" for name, line in found if name == family)
        file.write("# EOF\n")
    load(text, folder / "data")
    with serving(folder, folder / "data") as server:
        yield server


def ask(server: Prometheus, **chosen: str) -> dict[tuple[str, str], list[str]]:
    """(agent, database) -> its sentences."""
    expression = VARIABLE.sub(lambda found: chosen.get(found[1], ".*"), sentence().expression)
    query = urllib.parse.urlencode({"query": expression, "time": NOW})
    found: dict[tuple[str, str], list[str]] = {}
    for row in json.loads(get(f"{server.url}/api/v1/query?{query}"))["data"]["result"]:
        labels = row["metric"]
        found.setdefault((labels["instance"], labels["database"]), []).append(labels["sentence"])
    return found


@pytest.mark.e2e
@pytest.mark.beside
@pytest.mark.parametrize("name", CASES)
def test_each_database_has_its_one_sentence(prometheus: Prometheus, name: str) -> None:
    found = ask(prometheus)

    assert len(found) == 4 * len(CASES)
    for agent in ("one:19703", "two:19703"):
        for number in ("1", "2"):
            assert found[agent, f"f:\\{name}\\{number}.edb"] == [CASES[name][1]]


@pytest.mark.e2e
@pytest.mark.beside
def test_only_selected_databases_have_a_sentence(prometheus: Prometheus) -> None:
    found = ask(prometheus, instance="one.+", database="f:.bad pages.1.edb")

    assert list(found) == [("one:19703", "f:\\bad pages\\1.edb")]


@pytest.mark.e2e
@pytest.mark.beside
def test_an_instance_selects_its_databases(prometheus: Prometheus) -> None:
    found = ask(prometheus, ese_instance="NTDSA")

    assert {database for _, database in found} == {
        f"f:\\garbage collection\\{number}.edb" for number in "12"
    }


def test_every_rule_of_the_advice_has_words() -> None:
    assert list(REASONS) == [name for name, _ in RULES]
    assert set(ALONE) <= set(REASONS)


def test_lengths_and_days_are_told_as_on_the_pages() -> None:
    assert duration(2.75 * HOUR) == "2 h 45 min"
    assert duration(4 * HOUR) == "4 h"
    assert duration(45 * 60.0) == "45 min"
    assert duration(17 * DAY + 3 * HOUR) == "17 d 3 h"
    assert duration(7 * DAY) == "7 d"
    assert day_text(at(2007, 6, 19, 3), NOW) == "19 June"
    assert day_text(at(2006, 12, 31, 23, 59), NOW) == "31 December 2006"
