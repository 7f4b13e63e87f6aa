"""One partition without a broker."""

from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.daemon.agent_health import rebuilt_sentence
from esewatch.model import Batch
from esewatch.sources.kafka.partition import Partition
from tests.support.records import DAY, EPOCH, event


def test_a_damaged_journal_is_told_and_what_it_knew_is_missed_until_it_is_read_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "j.db"
    partition = Partition("fleet", 0, path, Settings(), EPOCH)
    partition.fold(Batch(records=[event(700, 0, 1), event(704, DAY, 2)]), {}, EPOCH)
    partition.commit()
    partition.journal._db.execute("UPDATE entity SET crc = crc + 1 WHERE kind = 'host'")
    partition.close()

    partition = Partition("fleet", 0, path, Settings(), EPOCH)

    assert "the checksum of a row is wrong" in caplog.text
    aside = path.resolve().with_name("j.db.damaged-1")
    told = f"fleet/0: the journal was damaged and is set aside as {aside}: reading everything again"
    assert told in caplog.messages
    partition.fold(Batch(records=[event(704, DAY, 2)], caught_up=True), {}, EPOCH)
    (known,) = partition.folder.settle_rebuilt()
    assert rebuilt_sentence(known).startswith("not rebuilt: records from 2007-06-16T13:20:00")
    partition.close()
