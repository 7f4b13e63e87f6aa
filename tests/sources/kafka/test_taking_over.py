"""Partitions that are opened with a changelog, without a broker."""

from pathlib import Path

import pytest

from esewatch.config import Kafka, Settings
from esewatch.model import Batch
from esewatch.sources.kafka import changelog
from esewatch.sources.kafka.changelog import Changelog
from esewatch.sources.kafka.partition import Partition
from tests.sources.kafka.fake_group import without_brokers
from tests.support.records import EPOCH, event

ENTRY = Kafka(type="kafka", name="fleet", brokers=["x:1"], topics=["t"])


@pytest.fixture(autouse=True)
def _brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelog, "client_module", without_brokers)


def opened(journal: Path, changelog: Changelog | None = None) -> Partition:
    return Partition("fleet", 0, journal, Settings(), EPOCH, changelog=changelog)


def with_records(journal: Path, records: int, changelog: Changelog | None = None) -> Partition:
    """A partition that has read so many."""
    partition = opened(journal, changelog)
    partition.fold(Batch(records=[event(700, n, n) for n in range(1, records + 1)]), {}, EPOCH)
    partition.commit()
    return partition


def test_a_journal_from_before_the_changelog_was_configured_does_not_undo_it(
    tmp_path: Path,
) -> None:
    with_records(tmp_path / "own.db", 1).close()
    other = with_records(tmp_path / "other.db", 3, Changelog(ENTRY, "state", 0))
    changelog = Changelog(ENTRY, "state", 0)
    changelog.rows = other.journal.every_row()
    other.close()

    partition = opened(tmp_path / "own.db", changelog)

    assert partition.folder.state.sources["fleet/0"].records == 3
    assert list(changelog._left.values()).count(None) == 0
    partition.close()


def test_a_damaged_journal_is_told_and_nothing_is_missing_where_the_changelog_has_its_state(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    partition = with_records(tmp_path / "j.db", 3, Changelog(ENTRY, "state", 0))
    changelog = Changelog(ENTRY, "state", 0)
    changelog.rows = partition.journal.every_row()
    partition.close()
    raw = (tmp_path / "j.db").read_bytes()
    (tmp_path / "j.db").write_bytes(b"x" * 16 + raw[16:])

    partition = opened(tmp_path / "j.db", changelog)

    known = partition.folder.state.sources["fleet/0"]
    assert (known.records, known.rebuilding) == (3, False)
    aside = (tmp_path / "j.db.damaged-1").resolve()
    told = f"fleet/0: the journal was damaged and is set aside as {aside}: taking the changelog"
    assert told in caplog.messages
    partition.close()
