"""Months of healthy servers ask for nobody."""

from collections.abc import Callable

import msgspec
import pytest

from esewatch.config import LogFiles
from esewatch.expose.pages.overview import overview
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch
from tests.rules.quality.built import background, controller, search
from tests.rules.quality.month import END, Month

THE_CLOCK = "clock_skew"
"""The months end before 2026, and no clock that says so is believed."""


@pytest.mark.parametrize("made", [controller, background, search])
def test_a_healthy_month_gives_notes_only(made: Callable[[str, int], Month]) -> None:
    month = made("host", 1)
    logs = LogFiles(type="evtx", name="logs", paths=["/logs/*.evtx"])
    settings = msgspec.structs.replace(month.settings, sources=[logs])
    folder = Folder(State(), settings)
    folder.open_source("logs", END)
    folder.fold("logs", Batch(records=month.records, caught_up=True), END)
    found = overview(folder.state, settings, END).problems
    assert [each.problem for each in found if each.needs_person] == [THE_CLOCK]
    notes = {each.problem for each in found if not each.needs_person}
    assert notes <= {"counters_missing", "device_unknown", "mailboxes_unknown"}
