"""The bench of workers on Kafka: what it sends, and that a state comes back whole."""

from pathlib import Path

import pytest

from bench.kafka import events, rebuilt, renamed
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import decoder_factory
from tests.support.kafka import Broker


def test_rows_of_another_server_differ_in_its_name_and_those_of_its_databases() -> None:
    key: tuple[str, ...] = ("database", "ex000", "e:\\db0007\\db0007.edb")
    rows = {key: b"EX000 DB0007 \x00\xff 000"}

    assert renamed(rows, 36**2 + 36 + 11) == {
        ("database", "ex11b", "e:\\db11b7\\db11b7.edb"): b"EX11b DB11b7 \x00\xff 000"
    }


@pytest.mark.parametrize("share", [100, 5])
def test_so_many_of_a_hundred_messages_are_of_ese(share: int) -> None:
    factory = decoder_factory(EventOptions())
    messages = events(400, share)

    found = [
        record
        for _, value in messages
        for record in factory("message", value, b"").feed(value + b"\n", final=True).records
    ]

    assert len(messages) == 400
    assert len(found) == 4 * share


@pytest.mark.slow
@pytest.mark.e2e
def test_all_databases_come_back_from_the_changelog(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker")
    try:
        figure = rebuilt(broker, tmp_path, 20)
    finally:
        broker.kill()

    assert figure.what == "Kafka: 200 databases from the changelog, without a disk"
