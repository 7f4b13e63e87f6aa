"""`events`, `counters` and `report`: a pile of logs in, data or a page out."""

import argparse
import math
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import counted
from esewatch.advice.findings.lone_instances import lone_instances
from esewatch.advice.history.surroundings import is_damaged, surroundings
from esewatch.cli.inputs.as_of import as_of
from esewatch.cli.inputs.counter_csv import CounterCsv, counter_path
from esewatch.cli.inputs.reader import Reader
from esewatch.cli.options import (
    add_config_option,
    add_format_option,
    add_input_options,
    load_settings,
)
from esewatch.cli.whole_file import check_folder, write_whole
from esewatch.expose.formatting import iso_time
from esewatch.expose.pages.report.report_page import Advised, build_report, render_report
from esewatch.expose.pages.report.report_result import result_sentence
from esewatch.fold.databases.integrity import PAGE_EVENTS
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Event, FieldValue, Reading
from esewatch.names import visible
from esewatch.sources.detect_input import COUNTER_LOGS


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `events`, `counters` and `report`."""
    events = commands.add_parser(
        "events",
        help="decode ESE events of any supported input",
        epilog="example: esewatch events --format json Application.evtx",
    )
    add_input_options(events)
    add_format_option(events)
    events.add_argument(
        "--companions", action="store_true", help="also the events of other providers we fold"
    )
    events.set_defaults(function=print_events)
    counters = commands.add_parser(
        "counters",
        help="decode counter samples",
        epilog="example: esewatch counters --format csv ex01.blg > ex01.csv",
    )
    add_input_options(counters)
    add_format_option(counters, "csv")
    counters.add_argument("--ese", action="store_true", help="only those that feed a metric")
    counters.set_defaults(function=print_counters)
    report = commands.add_parser(
        "report",
        help="one self-contained page from a pile of logs",
        epilog="example: esewatch report Application.evtx counters.csv -o report.html",
    )
    add_input_options(report)
    add_config_option(report)
    report.add_argument("-o", "--output", required=True, metavar="F", help="the page to write")
    report.set_defaults(function=write_report)


def print_events(options: argparse.Namespace) -> int:
    """`events`: exit status 1 when a bad page is among them or a piece was unreadable."""
    reader = Reader(options, companions=options.companions, ese_only=True)
    bad = False
    for source in reader.sources():
        for batch in reader.batches(source):
            events = [record for record in batch.records if isinstance(record, Event)]
            bad = bad or any(event.event_id in PAGE_EVENTS for event in events)
            if options.format == "json":
                sys.stdout.write(event_lines(events))
            else:
                sys.stdout.writelines(map(_event_text, events))
    return reader.status(wrong=bad)


def print_counters(options: argparse.Namespace) -> int:
    """`counters`: every sample, or with `--ese` those that feed a metric."""
    reader = Reader(options, companions=False, ese_only=options.ese, kinds=COUNTER_LOGS)
    table = CounterCsv(reader.paths) if options.format == "csv" else None
    show = _reading_json if options.format == "json" else _reading_text
    for source in reader.sources():
        for batch in reader.batches(source):
            for record in batch.records:
                if not isinstance(record, Reading) or (options.ese and not record.feed):
                    continue
                if table is not None:
                    table.add(record)
                elif math.isfinite(record.value):
                    sys.stdout.write(show(record))
    if table is not None:
        table.write()
    return reader.status()


def write_report(options: argparse.Namespace) -> int:
    """`report`: exit status 1 when a bad page stands, a piece was unreadable, or all were empty."""
    settings = load_settings(options)
    output = Path(options.output)
    check_folder(output)
    reader = Reader(options, companions=True, ese_only=True)
    folder = Folder(State(), settings)
    for source in reader.sources():
        folder.open_source(source.name, time.time())
        for batch in reader.batches(source):
            folder.fold(source.name, batch, time.time())
    if reader.nothing_read:
        return reader.status()
    folder.computers.settle()
    now = time.time()
    told = surroundings(folder.state, settings)
    report = build_report(
        folder.state,
        settings,
        now,
        inputs=reader.paths,
        unreadable=reader.unreadable,
        unread=reader.errors,
        advised=[
            Advised(
                group.time,
                advise(group.state, settings, group.time, told),
                tuple(lone_instances(group.state, group.time, group.computers)),
            )
            for group in as_of(folder.state, now)
        ],
    )
    write_whole(output, render_report(report))
    untimed = sum(each.untimed for each in folder.state.sources.values())
    if untimed:
        print(
            f"esewatch: {counted(untimed, 'event has', 'events have')} no time, so no age and no"
            " advice follows from them",
            file=sys.stderr,
        )
    print(visible(f"esewatch: wrote {output}"), file=sys.stderr)
    print(visible(result_sentence(report)))
    nothing = not report.records
    return reader.status(wrong=nothing or bool(untimed) or is_damaged(folder.state, settings))


_encoder = msgspec.json.Encoder()


class EventLine(msgspec.Struct, omit_defaults=True, gc=False):
    """An event as `--format json` prints it; what is unknown is absent."""

    time: str = ""
    computer: str = ""
    channel: str = ""
    provider: str = ""
    event_id: int | None = None
    record_id: int | None = None
    level: str | None = None
    process: str = ""
    ese_instance: str = ""
    database: str = ""
    task: str | None = None
    stage: str | None = None
    fields: dict[str, FieldValue] = {}
    strings: tuple[str, ...] = ()


def event_line(event: Event) -> EventLine:
    """The event as an object of JSON."""
    return EventLine(
        iso_time(event.time) or "",
        event.computer,
        event.channel,
        event.provider,
        event.event_id,
        event.record_id,
        event.level,
        event.process,
        event.ese_instance,
        event.database,
        event.task,
        event.stage,
        event.fields,
        event.strings,
    )


def event_lines(events: Iterable[Event]) -> str:
    """The events as `--format json` prints them, one a line."""
    return _encoder.encode_lines(map(event_line, events)).decode()


def _event_text(event: Event) -> str:
    fields = " ".join(f"{name}={value}" for name, value in event.fields.items())
    what = " ".join(part for part in (event.task, event.stage) if part)
    parts = (
        iso_time(event.time) or "-",
        event.computer or "-",
        event.provider,
        str(event.event_id),
        what or event.level or "-",
        event.database or event.ese_instance or "-",
        fields,
    )
    return _one_line("  ".join(part for part in parts if part))


def _reading_json(reading: Reading) -> str:
    found = {
        "time": iso_time(reading.time) or "",
        "computer": reading.computer,
        "object": reading.object,
        "instance": reading.instance,
        "counter": reading.counter,
        "value": reading.value,
        "raw": "" if reading.raw is None else reading.raw,
        "kind": reading.kind,
        "metric": reading.feed.metric if reading.feed else "",
    }
    kept = {key: value for key, value in found.items() if value != ""}
    return _encoder.encode(kept).decode("utf-8", "surrogatepass") + "\n"


def _reading_text(reading: Reading) -> str:
    name = counter_path(reading)
    return _one_line(f"{iso_time(reading.time) or '-'}  {name}  {reading.value:g}")


def _one_line(text: str) -> str:
    """Control characters of the data must not reach the terminal."""
    return "".join(c if c.isprintable() else " " for c in text) + "\n"
