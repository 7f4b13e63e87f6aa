"""Every view says the same of a database: it is judged once, and each shows that."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
import yaml

from eselab.base.profiles import PROFILES
from esewatch.advice.judgement import TEXTS
from esewatch.expose.http.database_list import overview_json
from tests.eselab.running import run
from tests.hard_histories import MONDAY, PAGES, Copy, domain_controller, numbered, old_store
from tests.oracle.history import DAY, HOUR, History, Logged
from tests.situations.asking import CONFIGURATION, ask, server_room
from tests.situations.cases import SITUATIONS
from tests.support.daemon_reading import Key, Shown, by_key, read_by_daemon, shown_by
from tests.support.in_process import Said
from tests.support.verdict_tables import verdicts

QUEUE = Copy(
    database=r"C:\Queue\mail.que", instance="Transport Mail Database", process="edgetransport",
    provider="ESENT",
)  # fmt: skip
STORE = Copy()
DIRECTORY = domain_controller()


def scans(copy: Copy, first: float, count: int) -> Iterator[Logged]:
    for number in range(count):
        begun = first + 3 * number * DAY
        yield copy.maintenance_start(begun)
        yield copy.maintenance_end(begun + 2 * DAY, begun)


def garbage(copy: Copy, first: float, count: int) -> Iterator[Logged]:
    for number in range(count):
        begun = first + 12 * number * HOUR
        yield from (copy.defrag_start(begun), copy.defrag_end(begun + 1, begun))


def logged(*events: Logged) -> History:
    return History(tuple(numbered(events)), max(each.time for each in events), {}, True)


END = MONDAY + 30 * DAY
FULL = STORE.log(END, 413, r"E:\DB01\E00tmp.log", "-1808 (0xfffff8f0)", level="error")
FAILED = STORE.log(
    END, 481, STORE.database, f"{PAGES} (0x30d40)", "32768 (0x00008000)",
    "-1022 (0xfffffc02)", "1117 (0x0000045d)", "x", "0.01 seconds", level="error",
)  # fmt: skip
NOISE = [STORE.log(MONDAY + day * DAY, 2006, "1") for day in range(31)]
CASES: Mapping[str, History] = {
    **{each.name: each.history() for each in SITUATIONS},
    "mail queue": logged(*QUEUE.instance_start(MONDAY), *garbage(QUEUE, MONDAY + HOUR, 60)),
    "bad page": logged(*scans(STORE, MONDAY, 10), STORE.bad_page(END, 17)),
    "bad page of a controller": logged(
        *garbage(DIRECTORY, MONDAY, 60), DIRECTORY.bad_page(END, 17)
    ),
    "never verified": logged(*STORE.instance_start(MONDAY), STORE.maintenance_start(MONDAY),
                             *NOISE),
    "overdue": logged(*scans(STORE, MONDAY - 30 * DAY, 4), *NOISE),
    "disk full": logged(*scans(STORE, MONDAY, 10), FULL),
    "read failed": logged(*scans(STORE, MONDAY, 10), FAILED),
    "scan stands still": logged(
        *scans(STORE, MONDAY, 8), STORE.maintenance_start(MONDAY + 24 * DAY), *NOISE
    ),
    "unknown error": logged(*scans(STORE, MONDAY, 10), STORE.log(END, 999, "x", level="error")),
    "records are missing": History(
        tuple(
            each._replace(record_id=(each.record_id or 0) + 900 * (each.time > MONDAY + 12 * DAY))
            for each in numbered([*scans(STORE, MONDAY, 4), STORE.maintenance_start(END)])
        ),
        END, {}, True,
    ),
    "an old store": logged(
        *(old_store().checksum_end(MONDAY + day * DAY, MONDAY + day * DAY - HOUR, bad=day // 20)
          for day in range(0, 30, 3)),
    ),
}  # fmt: skip
ENGINE = "stories of the bundled engine"
STORY_SECONDS = 45
"""Two windows of its databases; a page of one goes bad in the second."""
each_case = pytest.mark.parametrize("case", [*CASES, ENGINE])


class Views(NamedTuple):
    """What they say: of a database by computer and label, commands and pages as they are."""

    json: Said
    text: Said
    report: Said
    report_page: str
    daemon: Shown
    databases: Mapping[Key, Any]
    doctor: str

    @property
    def advised(self) -> dict[Key, Any]:
        """The objects of `advise --format json`, by which the other views are measured."""
        return by_key(map(json.loads, self.json.out.splitlines()))

    def paragraph(self, key: Key) -> str:
        """What `advise` says of it for people."""
        paragraphs = self.text.out.split("\n\n")[1:]
        [mine] = [each for each in paragraphs if f"({key[0]}, {key[1]}): " in each]
        return mine


@cache
def views(case: str) -> Views:
    """All views of the same logs, as of their last record."""
    with room(case) as (plain, now), pytest.MonkeyPatch.context() as patch:
        places = [{"type": "evtx", "path": f"{Path.cwd()}/logs/*/*.evtx"}]
        Path(CONFIGURATION).write_text(
            yaml.safe_dump({**plain, "sources": places, "journal": f"{Path.cwd()}/journal.db"})
        )
        options = ("--config.file", CONFIGURATION)
        as_json = ask("advise", *options, "--format", "json", "logs/")
        text = ask("advise", *options, "--explain", "logs/")
        report = ask("report", *options, "logs/", "-o", "report.html")
        page = Path("report.html").read_text(encoding="utf-8")
        daemon = read_by_daemon(Path(CONFIGURATION), now)
        patch.setattr("time.time", lambda: now)
        said = ask("doctor", *options, "--format", "json")
        databases = by_key(json.loads(overview_json(daemon.publisher.overview()))["databases"])
        return Views(
            as_json, text, report, html.unescape(page), shown_by(daemon), databases, said.out
        )


@contextmanager
def room(case: str) -> Iterator[tuple[Mapping[str, object], float]]:
    """Be in a folder with the logs of a case. Its configuration, and its last time."""
    if case != ENGINE:
        told = CASES[case]
        with server_room(told):
            times = [each.time for each in told.records if isinstance(each, Logged)]
            yield told.configuration, max(times)
        return
    with TemporaryDirectory() as folder, chdir(folder):
        engine, place = Path("engine"), Path("logs", "engine")
        for each in (engine, place):
            each.mkdir(parents=True)
        run(engine, PROFILES["demo"](), STORY_SECONDS / DAY, windows=True)
        (engine / "Application.evtx").rename(place / "Application.evtx")
        (said,) = {
            json.loads(each)["as_of"]
            for each in ask("advise", "--format", "json", "logs/").out.splitlines()
        }
        yield {}, datetime.fromisoformat(said).timestamp()


@each_case
def test_the_verdict_is_the_same(case: str) -> None:
    told = views(case)
    names = {key: (key[0], told.databases[key]["name"]) for key in told.advised}

    assert told.advised.keys() == told.daemon.advice.keys() == told.databases.keys()
    for key, said in told.advised.items():
        verdict = said["verdict"]
        assert told.daemon.advice[key]["verdict"] == verdict
        assert told.databases[key]["verdict"] == verdict
        assert (*names[key], verdict) in verdicts(told.report_page)
        assert (*names[key], verdict) in verdicts(told.daemon.page)
        sign, words, _ = TEXTS[verdict]
        assert told.paragraph(key).partition("\n")[0].endswith(f"): {sign} {words}")
        if said["tier"] == "watched":
            [(labels, _)] = told.daemon.samples("ese_database_verdict", key)
            assert labels["verdict"] == verdict


@each_case
def test_the_findings_are_the_same(case: str) -> None:
    told = views(case)

    for key, said in told.advised.items():
        found = [(each["finding"], each["sentence"]) for each in said["findings"]]
        assert told.daemon.advice[key]["findings"] == said["findings"]
        assert all({"severity", "since"} >= each.keys() - {"finding", "sentence"}
                   and "severity" in each for each in said["findings"])  # fmt: skip
        if said["tier"] == "watched":
            samples = told.daemon.samples("ese_finding", key)
            told_by = [*said["findings"], *said.get("details", ())]
            assert {(labels["finding"], labels["severity"]) for labels, _ in samples} == {
                (each["finding"], each["severity"]) for each in told_by
            }
        lines = re.findall(r"^  ! (\w+): (.*)\.$", told.paragraph(key), re.MULTILINE)
        assert lines == found
        for name, sentence in found:
            if name != "investigate":
                assert sentence in told.report_page
                assert sentence in told.daemon.page


@each_case
def test_what_verified_it_and_its_deadlines_are_the_same(case: str) -> None:
    told = views(case)

    for key, said in told.advised.items():
        verified = said.get("verified", {})
        assert told.daemon.advice[key].get("verified", {}) == verified
        assert told.databases[key]["verified"] == verified
        samples = told.daemon.samples("ese_last_full_verification_timestamp_seconds", key)
        assert {labels["by"] for labels, _ in samples} == set(verified)
        for stamp in verified.values():
            assert f'datetime="{stamp}"' in told.report_page
            assert f'datetime="{stamp}"' in told.daemon.page
        limit = told.databases[key].get("verification_deadline_seconds")
        samples = told.daemon.samples("ese_verification_deadline_seconds", key)
        assert [value for _, value in samples] == [limit] * (limit is not None)


@each_case
def test_the_forecast_and_the_action_are_the_same(case: str) -> None:
    told = views(case)

    for key, said in told.advised.items():
        for name in ("action", "forecast", "reasons", "recommended_seconds", "as_of"):
            assert told.daemon.advice[key].get(name) == said.get(name)
        if said["tier"] == "watched":
            actions = told.daemon.samples("ese_window_advice", key)
            assert [each["action"] for each, value in actions if value] == [said["action"]]
        if "p90" in said.get("forecast", {}):
            # The report is made today: the forecast of old logs is over.
            assert f'datetime="{said["forecast"]["p90"]}"' not in told.report_page
            assert "it should have ended since the last record that was read" in told.report_page
            assert f'datetime="{said["forecast"]["p90"]}"' in told.daemon.page


@each_case
def test_the_exit_status_is_the_same(case: str) -> None:
    told = views(case)

    assert told.json.status == told.text.status == told.report.status


@each_case
def test_never_verified_directories_are_told_alike(case: str) -> None:
    told = views(case)
    said = re.findall(r"no verification is known for \d.*", told.json.err)

    for sentence in said:
        assert sentence in told.doctor.replace(r"\\", "\\")
        assert sentence[1:] in told.report_page
    assert bool(said) == ('"problem":"never_verified"' in told.doctor)
