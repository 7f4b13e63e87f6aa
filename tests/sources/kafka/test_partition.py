"""One partition without a broker."""

from contextlib import closing
from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.journal import Journal
from esewatch.model import Batch, JournalError
from esewatch.sources.kafka.partition import Partition
from tests.support.records import EPOCH, event


def test_a_batch_that_was_folded_in_part_is_not_committed_by_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = Partition("fleet", 0, tmp_path / "j.db", Settings(), EPOCH)
    partition.fold(Batch(), {}, EPOCH)
    partition.commit()
    take = Folder._event

    def short_of_memory(self: Folder, *record: object) -> None:
        take(self, *record)  # type: ignore[arg-type]
        raise MemoryError

    monkeypatch.setattr(Folder, "_event", short_of_memory)
    with pytest.raises(MemoryError):
        partition.fold(Batch(records=[event(700, 0, 1)]), {}, EPOCH)
    with pytest.raises(JournalError, match="folded in part"):
        partition.commit()
    partition.close()
    with closing(Journal(tmp_path / "j.db")) as journal:
        assert journal.load()[0].databases == {}
