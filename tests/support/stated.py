"""What an agent states of databases and instances, moment by moment, as records arrive."""

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from esewatch.advice.advise import advise
from esewatch.advice.alerts import Level, held
from esewatch.advice.base.finding import DETAILS
from esewatch.advice.checkdb import CHECK_FINDINGS, judged_checks
from esewatch.advice.findings.details import of_instances
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.statements import restate
from esewatch.config import Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State, Stated
from esewatch.journal import Journal
from esewatch.model import Batch, Record
from tests.support.records import EPOCH, LABEL

Step = Record | Callable[[Folder], Folder]
Told = Mapping[str, str]
"""By database or instance, what is stated with 1: `finding severity`, separated by commas."""
Moment = tuple[float, Sequence[Step], Told]
"""Seconds after EPOCH, what was read or done by then, and what is stated then."""


def ack(label: str = LABEL, *pages: int) -> Step:
    def done(folder: Folder) -> Folder:
        told = surroundings(folder.state, folder.settings)
        acknowledge(folder, "ex01", label, pages, told)
        return folder

    return done


def configured(settings: Settings) -> Step:
    def done(folder: Folder) -> Folder:
        folder.reconfigure(settings)
        return folder

    return done


def restarted(folder: Folder) -> Folder:
    """The agent as it comes back with its journal."""
    with tempfile.TemporaryDirectory() as place:
        journal = Journal(Path(place) / "journal.db")
        journal.commit(folder.state, folder.changed, {})
        journal.close()
        again = Journal(Path(place) / "journal.db")
        state, _ = again.load()
        again.close()
    return Folder(state, folder.settings)


def assert_stated(
    *moments: Moment, settings: Settings | None = None, of: Collection[str] = ()
) -> None:
    """Of the findings of instances and of SQL Server, and of databases those that alerts hold, or
    `of` those, exactly these are stated to stand at each of the moments, and what stood a moment
    before is stated to be over. The source is first read at the first."""
    folder = Folder(State(), settings or Settings())
    folder.open_source("logs", EPOCH + moments[0][0])
    before: dict[str, set[str]] = {}
    for time, steps, expected in moments:
        folder = _after(folder, steps, EPOCH + time)
        stands, over = _stated(folder, EPOCH + time, of)
        wanted = {name: {*told.split(", ")} for name, told in expected.items()}
        assert stands == wanted, f"after {time} seconds"
        for name, findings in before.items():
            ended = findings - wanted.get(name, set())
            assert ended <= over.get(name, set()), f"after {time} seconds"
        before = stands


def _after(folder: Folder, steps: Sequence[Step], now: float) -> Folder:
    records: list[Record] = []
    for step in steps:
        if callable(step):
            folder.fold("logs", Batch(records=records, caught_up=True), now)
            folder, records = step(folder), []
        else:
            records.append(step)
    folder.fold("logs", Batch(records=records, caught_up=True), now)
    return folder


def _stated(
    folder: Folder, now: float, of: Collection[str]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What is stated with 1 and what with 0."""
    state, settings = folder.state, folder.settings
    details, checks = of_instances(state, settings, now), judged_checks(state, settings, now)
    judged = advise(state, settings, now)
    folder.changed.update(restate(state, settings, judged, details, 60.0, checks=checks))
    tables: Mapping[Level, Mapping[tuple[str, str], Stated]] = {
        "database": state.stated,
        "ese_instance": state.stated_instances,
    }
    stands: dict[str, set[str]] = {}
    over: dict[str, set[str]] = {}
    for level, table in tables.items():
        names = DETAILS if level == "ese_instance" else {*held(level), *CHECK_FINDINGS}
        for (_, name), known in table.items():
            for found, told in ((stands, known.standing), (over, known.over)):
                shown = {each for each in told if each.split()[0] in (of or names)}
                if shown:
                    found.setdefault(name, set()).update(shown)
    return stands, over
