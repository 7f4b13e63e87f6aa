"""`report`: many logs in, a page out."""

import argparse
import os
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from esefiles.base.command import FAILED
from esefiles.base.names import visible
from esefiles.base.progress import progress_bar
from esewatch.advice.advise import Judging, judge_each, needs_a_person, together
from esewatch.advice.base.finding import counted
from esewatch.advice.findings.details import lone_instances
from esewatch.advice.not_judged import nothing_judged
from esewatch.cli.inputs.reading import (
    ComputerGroup,
    Reader,
    as_of,
    moments,
    state_of,
    tell_dropped,
)
from esewatch.cli.options import add_config_option, add_input_options, load_settings
from esewatch.cli.output import ended_by_signals, naming, tell
from esewatch.config import Settings
from esewatch.expose.pages.report.database_pages import Advised, DatabasePages, render_detail
from esewatch.expose.pages.report.report_page import (
    ReportPage,
    build_report,
    render_report,
    result_sentence,
)
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError

_DETAIL = re.compile(r"[0-9]{4,}\.html")
_TITLE = b"ESE maintenance report</title>"
_HEAD_BYTES = 65536


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    report = commands.add_parser(
        "report",
        epilog="example: esewatch report Application.evtx counters.csv -o report.html",
    )
    add_input_options(report)
    add_config_option(report)
    report.add_argument("-o", "--output", required=True, metavar="F", help="the page to write")
    report.add_argument(
        "--details",
        metavar="FOLDER",
        help="also write a page for each database into this folder (created if missing);"
        " the tables of the report link to them",
    )
    report.set_defaults(function=write_report)


def write_report(options: argparse.Namespace) -> int:
    """`report`: exit status 1 when a bad page stands, a verdict needs a person or a piece was
    unreadable, 2 when no ESE database is known (the page says so, too)."""
    settings = load_settings(options)
    output = Path(options.output)
    _check_output(output)
    reader = Reader(options, companions=True, ese_only=True)
    state = state_of(reader, settings)
    if reader.nothing_read:
        return reader.status()
    now = time.time()
    groups = list(as_of(state, now))
    judging = _judged(state, settings, groups)
    advised = [_advised(group, settings, judging) for group in groups]
    details = Path(options.details) if options.details else None
    report = build_report(
        state,
        settings,
        now,
        inputs=reader.paths,
        unreadable=reader.unreadable,
        unread=reader.errors,
        remarks=reader.remarks,
        advised=advised,
        known=judging.derived,
        details=_address(details, output) if details else "",
    )
    if details is not None:
        pages = DatabasePages(state, settings, advised, now, known=judging.derived)
        _write_details(pages, report, details, output)
    _write_whole(output, render_report(report))
    untimed = sum(each.untimed for each in state.sources.values())
    if untimed:
        how_many = counted(untimed, "event has", "events have")
        tell(f"{how_many} no time, so ages and advice are not available for them")
    tell(f"wrote {output}")
    print(visible(result_sentence(report)))
    is_part = tell_dropped(state)
    lone = [instance for each in advised for instance in each.lone]
    if sentence := report.fleet.basis.sentence:
        tell(sentence)
    if nothing_judged(state, lone) and not report.checks and not is_part:
        return FAILED
    wrong = bool(untimed) or is_part or judging.derived.is_damaged(state)
    return reader.status(
        wrong=wrong or any(needs_a_person([*each.advice, *each.lone]) for each in advised)
    )


def _advised(group: ComputerGroup, settings: Settings, judging: Judging) -> Advised:
    judged = together(group.state, settings, judging.judged, group.time)
    lone = tuple(lone_instances(group.state, group.time, group.computers))
    return Advised(group.time, judged, lone, group.computers)


def _check_output(output: Path) -> None:
    """Raises EsewatchError where the file cannot be written, or is none of a report: before an
    hour of reading."""
    if output.is_dir():
        raise EsewatchError(
            f"{output}: is a folder: name a file in it, such as {output}/report.html"
        )
    if output.is_file() and output.stat().st_size and not _is_report(output):
        raise EsewatchError(
            f"{output}: exists and is not from an earlier report: move it away or choose another -o"
        )
    for folder in (output.parent, _real(output).parent):
        if not folder.is_dir():
            raise EsewatchError(f"{output}: there is no folder {folder}: create it first")


def _real(output: Path) -> Path:
    """The file that a link leads to; it may be on another file system."""
    return Path(os.path.realpath(output))


def _write_whole(output: Path, text: str) -> None:
    """Write the file at once: one that is there stays until the new one is complete.

    Raises OSError with the file. A pipe or a device is written to as it is.
    """
    if output.exists() and not output.is_file():
        with naming(output):
            output.write_text(text, encoding="utf-8")
        return
    output = _real(output)
    with (
        ended_by_signals(),
        naming(output, beside=True),
        tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.parent) as folder,
    ):
        made = Path(folder) / output.name
        made.write_text(text, encoding="utf-8")
        made.replace(output)


def _judged(state: State, settings: Settings, groups: Sequence[ComputerGroup]) -> Judging:
    """The databases, each as of its group, with a progress bar on a terminal."""
    times = moments(groups)
    with progress_bar(total=len(state.databases), desc="judging", unit=" databases") as bar:

        def moment(computer: str) -> float:
            bar.update()
            return times[computer]

        return judge_each(state, settings, moment)


def _write_details(pages: DatabasePages, report: ReportPage, folder: Path, output: Path) -> None:
    """A page for each database. Raises EsewatchError for a folder with other files in it."""
    folder.mkdir(parents=True, exist_ok=True)
    there = list(folder.iterdir())
    if others := [each.name for each in there if not _is_detail(each)]:
        raise EsewatchError(
            f"{folder}: holds other files, such as {min(others)}: name a new folder for the details"
        )
    for old in there:
        old.unlink()
    back = _address(output, folder / "0001.html")
    for name, figures in progress_bar(report.files, desc="details", unit=" pages"):
        page = render_detail(pages.of(figures), back)
        with naming(folder / name):
            (folder / name).write_text(page, encoding="utf-8")
    tell(f"wrote {len(report.files):,} pages in {folder}")


def _is_detail(path: Path) -> bool:
    """True if an earlier report wrote this page: by its name and its title."""
    is_named = _DETAIL.fullmatch(path.name) and not path.is_symlink() and path.is_file()
    return bool(is_named) and _is_report(path)


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return _TITLE in file.read(_HEAD_BYTES)


def _address(target: Path, page: Path) -> str:
    """The address of a file or folder as a link on `page`."""
    return quote(os.fsencode(Path(os.path.relpath(target, page.parent)).as_posix()))
