"""Every layout in every language gives the fields of the positional form, whatever the path is."""

import pytest

from esewatch.model import Event
from tests.ese.text.test_hostile_paths import PATHS, ROWS, sentence
from tests.sources.logs.formats.layouts import LAYOUTS, Layout
from tests.sources.logs.formats.reading import epoch, read
from tests.support.decoding import event_from_text

CARRIED = {
    "time": epoch("2007-06-21T03:14:15"),
    "computer": "EX01",
    "channel": "Application",
    "record_id": 4711,
}
ABSENT = {"time": None, "computer": "", "channel": "", "record_id": None}
OF_MESSAGE = ("event_id", "process", "ese_instance", "database", "task", "stage", "fields")


def differs(layout: Layout, event_id: int, message: str) -> list[object]:
    """What the layout gives that neither the message nor the record says."""
    if layout.is_line:
        message = " ".join(message.split())
    expected = event_from_text(message=message, provider="ESE", event_id=event_id)
    fed = read(layout.write(event_id, message))
    if fed.unreadable or len(fed.records) != 1:
        return [fed.unreadable, len(fed.records)]
    (found,) = fed.records
    assert isinstance(found, Event)
    assert expected is not None
    wanted = {name: getattr(expected, name) for name in OF_MESSAGE} | {"provider": "ESE"}
    wanted |= {name: CARRIED[name] if name in layout.carries else ABSENT[name] for name in CARRIED}
    return [
        (name, getattr(found, name), value)
        for name, value in wanted.items()
        if getattr(found, name) != value
    ]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_gives_the_fields_of_the_record_and_of_its_message(name: str) -> None:
    layout, found = LAYOUTS[name], []
    for number, row in enumerate(ROWS):
        path = PATHS[(number + len(name)) % len(PATHS)]
        message = f"svchost (1,D,0) one: {sentence(row, path)}".strip()
        if wrong := differs(layout, row.event_id, message):
            found.append((row.event_id, path, wrong))
    assert not found, f"{len(found)} of {len(ROWS)}: {found[0]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_gives_the_same_with_every_path(name: str) -> None:
    found = []
    for row in ROWS:
        for path in PATHS:
            message = f"svchost (1,D,0) one: {sentence(row, path)}".strip()
            if wrong := differs(LAYOUTS[name], row.event_id, message):
                found.append((row.event_id, path, wrong))
    assert not found, f"{len(found)} of {len(ROWS) * len(PATHS)}: {found[0]}"
