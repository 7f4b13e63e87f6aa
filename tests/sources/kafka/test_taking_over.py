"""Partitions that are opened with a changelog, without a broker."""

from pathlib import Path

import pytest

from esewatch.config import Kafka, Settings
from esewatch.model import Batch
from esewatch.sources.kafka.changelog import Changelog
from esewatch.sources.kafka.partition import Partition
from tests.sources.kafka.fake_group import without_brokers
from tests.support.records import EPOCH, event

ENTRY = Kafka(type="kafka", name="fleet", brokers=["x:1"], topics=["t"])


@pytest.fixture(autouse=True)
def _brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esewatch.sources.kafka.changelog.library", without_brokers)


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
