"""The same logs in another form get the same advice, to the byte."""

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.advice.inputs import (
    HOUR,
    Case,
    Event,
    Logs,
    Told,
    told,
    write,
    write_counters,
    write_events,
    write_evtx,
)
from tests.support.ese_text import RENDERED, render

Form = Callable[[Path, Logs], list[str]]
BERLIN = "(PDH-CSV 4.0) (Mitteleuropäische Sommerzeit)(-120)"
NUMERIC_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def halves(logs: Logs) -> tuple[Logs, Logs]:
    """The older and the younger half."""
    events, rows = len(logs.events) // 2, len(logs.rows) // 2
    return (
        logs._replace(events=logs.events[:events], rows=logs.rows[:rows]),
        logs._replace(events=logs.events[events:], rows=logs.rows[rows:]),
    )


def german_name(column: str) -> str:
    """As a German Windows names the object of a service that is not Exchange."""
    return column.replace("MSExchange Database ==> Instances", "Datenbank ==> Instanzen")


def german(folder: Path, logs: Logs) -> list[str]:
    """Decimal commas, semicolons, local time, localized names; German dates in the events."""
    counters = write_counters(
        folder / "zähler.csv",
        logs,
        header=BERLIN,
        between=";",
        cell=lambda cell: cell.replace(".", ","),
        rename=german_name,
        late=2 * HOUR,
        encoding="cp1252",
    )
    text = write_events(folder / "ereignisse.jsonl", logs.events).read_text()
    (folder / "ereignisse.jsonl").write_text(NUMERIC_DATE.sub(r"\2.\1.\3", text))
    return [str(folder / "ereignisse.jsonl"), str(counters)]


def evtx(folder: Path, logs: Logs) -> list[str]:
    """Events as Windows keeps them."""
    write_evtx(folder / "log.evtx", logs.events)
    return [str(folder), str(write_counters(folder / "counters.csv", logs))]


def counters_first(folder: Path, logs: Logs) -> list[str]:
    return write(folder, logs)[::-1]


def newest_event_first(folder: Path, logs: Logs) -> list[str]:
    """As Get-WinEvent lists them."""
    return write(folder, logs._replace(events=logs.events[::-1]))


def events_shuffled(folder: Path, logs: Logs) -> list[str]:
    events = list(logs.events)
    random.Random(1).shuffle(events)
    return write(folder, logs._replace(events=events))


def twice(folder: Path, logs: Logs) -> list[str]:
    files = write(folder, logs)
    return [*files, *write(folder / "again", logs)]


def twice_by_halves(folder: Path, logs: Logs) -> list[str]:
    """The whole, and its halves beside it."""
    older, younger = halves(logs)
    return [
        *write(folder / "younger", younger),
        *write(folder / "whole", logs),
        *write(folder / "older", older),
    ]


def split(folder: Path, logs: Logs) -> list[str]:
    """Over two files each, the younger ones named first."""
    older, younger = halves(logs)
    return [*write(folder / "a", younger), *write(folder / "b", older)]


def one_column_a_file(folder: Path, logs: Logs) -> list[str]:
    files = [str(write_events(folder / "events.jsonl", logs.events))]
    for place, column in enumerate(logs.columns):
        rows = [row._replace(cells=(row.cells[place],)) for row in logs.rows]
        one = logs._replace(columns=[column], rows=rows)
        files.append(str(write_counters(folder / f"{place}.csv", one)))
    return files


def tabs_in_utf_16(folder: Path, logs: Logs) -> list[str]:
    counters = write_counters(
        folder / "counters.tsv",
        logs,
        header="(PDH-TSV 4.0) (Coordinated Universal Time)(0)",
        between="\t",
        encoding="utf-16",
    )
    return [str(write_events(folder / "events.jsonl", logs.events)), str(counters)]


def compressed(folder: Path, logs: Logs) -> list[str]:
    packed = []
    for name in write(folder, logs):
        file = Path(f"{name}.gz")
        with gzip.open(file, "wb") as to:
            to.write(Path(name).read_bytes())
        packed.append(str(file))
    return packed


def wrapped(folder: Path, logs: Logs) -> list[str]:
    """One JSON array of all events."""
    files = write(folder, logs)
    Path(files[0]).write_text(json.dumps([event.line for event in logs.events], indent=1))
    return files


FORMS: list[Form] = [
    german,
    evtx,
    counters_first,
    newest_event_first,
    events_shuffled,
    twice,
    twice_by_halves,
    split,
    one_column_a_file,
    tabs_in_utf_16,
    compressed,
    wrapped,
]


def but_copies(said: Told) -> Told:
    """Without the lines that name a copy."""
    error = re.sub(r"^esewatch: .* is a copy: .*\n", "", said.error, flags=re.MULTILINE)
    return said._replace(error=error)


@pytest.mark.parametrize(
    "action",
    [
        "grow",
        pytest.param("keep", marks=pytest.mark.slow),
        pytest.param("shrink", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_same_logs_in_another_form_get_the_same_advice(
    cases: dict[str, Case], tmp_path: Path, action: str, form: Form
) -> None:
    case = cases[action]
    plain = told(case.configuration, write(tmp_path / "plain", case.logs))
    folder = tmp_path / "form"
    folder.mkdir()
    formed = told(case.configuration, form(folder, case.logs))

    assert plain.advice["action"] == action
    assert but_copies(formed) == plain


def exported(path: Path, events: list[Event]) -> str:
    """As PowerShell's Export-Csv writes them in Germany, newest first, in Berlin's time."""
    lines = ['"TimeCreated";"Id";"ProviderName";"LogName";"MachineName";"Message"']
    for event in reversed(events):
        number = event.system["EventID"]
        if number in RENDERED:
            time = f"{event.time + 2 * HOUR:%d.%m.%Y %H:%M:%S}"
            text = NUMERIC_DATE.sub(r"\2.\1.\3", render(number, event.strings))
            cells = (time, str(number), "ESE", "Application", "LAB.example", text)
            lines.append(";".join(f'"{cell}"' for cell in cells))
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("action", ["shrink", "keep", "grow"])
def test_texts_exported_in_germany_get_the_same_advice(
    cases: dict[str, Case], tmp_path: Path, action: str
) -> None:
    case = cases[action]
    plain = told(case.configuration, write(tmp_path / "plain", case.logs)).advice
    file = exported(tmp_path / "export.csv", case.logs.events)
    counters = write_counters(tmp_path / "local.csv", case.logs, header=BERLIN, late=2 * HOUR)
    zone = ("--timezone", "Europe/Berlin", "--date-order", "dmy")
    found = told(case.configuration, [file, str(counters)], "--format", "json", *zone).advice

    assert found["action"] == plain["action"] == action
    # Without fractions of a second a run may have no length.
    assert abs(found["evidence"].pop("windows") - plain["evidence"].pop("windows")) <= 1
    assert found["evidence"] == plain["evidence"]
    assert found["verified"]["online_scan"][:19] == plain["verified"]["online_scan"][:19]


def test_a_folder_is_its_files(cases: dict[str, Case], tmp_path: Path) -> None:
    case = cases["grow"]
    files = write(tmp_path / "logs", case.logs)
    plain = told(case.configuration, files)

    assert told(case.configuration, [str(tmp_path / "logs")]) == plain
    shutil.copy(files[0], tmp_path / "logs" / "a copy.txt")
    copied = told(case.configuration, [str(tmp_path / "logs")])
    assert "a copy.txt is a copy: all of it is in" in copied.error
    assert but_copies(copied) == plain
