"""Commands that open the journal see those of the partitions that lie beside it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.cli import main
from esewatch.config.files import load
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.passes.passes import views_in
from esewatch.journal import Journal
from esewatch.model import Batch, Record
from esewatch.sources.kafka.partition import Partition, PartitionPosition
from tests.support.records import DATABASE, EPOCH, LABEL, event

CONFIGURATION = """\
journal: journal.db
sources: [{type: kafka, name: "fleet [eu]", brokers: ["k1:9092"], topics: [t]}]
"""
ROOT = os.name != "nt" and os.geteuid() == 0


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """That of a daemon that was stopped, with the partitions 3 and 12."""
    path = tmp_path / "esewatch.yml"
    path.write_text(CONFIGURATION)
    Journal(tmp_path / "journal.db").close()
    fold(path, 3, "EX03", 17)
    fold(path, 12, "EX12", 18, 19)
    return path


def journal_of(config: Path, number: int) -> Path:
    return config.with_name(f"journal-fleet [eu]-{number}.db")


def fold(config: Path, number: int, computer: str, *pages: int) -> None:
    """Into the journal of the partition, as a worker does: bad pages of the computer."""
    partition = Partition("fleet [eu]", number, journal_of(config, number), load(config), EPOCH)
    records: list[Record] = [
        event(474, 0, n, computer=computer, fields={"page_number": n}) for n in pages
    ]
    position = PartitionPosition(topic_id="id", offset=len(pages), partitions=24)
    partition.fold(Batch(records=records, caught_up=True), {"t": position}, EPOCH)
    partition.commit()
    partition.close()


def bad_pages(config: Path, number: int) -> list[int]:
    """Those of all databases in the journal of the partition."""
    journal = Journal(journal_of(config, number), mend=False)
    state, _ = journal.load()
    journal.close()
    return [
        bad.page
        for entry in state.databases.values()
        for bad in known_bad_pages(entry, views_in(state, entry))
    ]


@pytest.fixture
def advised(config: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[list[str]]]:
    """What `advise` says: computer, database, findings."""

    def run() -> list[list[str]]:
        capsys.readouterr()
        assert main(["advise", "--config.file", str(config), "--format", "json"]) == 1
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [
            [each["computer"], each["database"], *(one["finding"] for one in each["findings"])]
            for each in found
        ]

    return run


def test_advice_is_of_the_databases_of_all_partitions_and_changes_no_file(
    config: Path, advised: Callable[[], list[list[str]]]
) -> None:
    before = sorted(config.parent.iterdir())

    assert [each[:2] for each in advised()] == [["ex03", LABEL], ["ex12", LABEL]]

    assert sorted(config.parent.iterdir()) == before


def test_files_that_are_no_journal_of_a_partition_are_let_be(
    config: Path, advised: Callable[[], list[list[str]]]
) -> None:
    for name in ("journal-other-1.db", "journal-fleet [eu]-x.db", "journal-fleet [eu]-3.db.lock"):
        config.with_name(name).write_bytes(b"no journal")

    assert len(advised()) == 2


def test_a_database_in_two_partitions_is_shown_once_with_the_most_known_bad_pages(
    config: Path, advised: Callable[[], list[list[str]]]
) -> None:
    fold(config, 5, "EX12", 20, 21, 22)

    assert [each[:2] for each in advised()] == [["ex03", LABEL], ["ex12", LABEL]]

    assert main(["ack", "--config.file", str(config), "--computer", "ex12", DATABASE, "20"]) == 0
    assert (bad_pages(config, 5), bad_pages(config, 12)) == ([21, 22], [18, 19])


def test_pages_are_acknowledged_in_the_journal_of_their_partition(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ack", "--config.file", str(config), "--computer", "ex12", DATABASE, "18"]) == 0

    assert capsys.readouterr().out == f"acknowledged 1 bad page of {DATABASE}\n"
    assert (bad_pages(config, 3), bad_pages(config, 12)) == ([17], [19])


def test_a_database_of_a_partition_is_forgotten(
    config: Path, advised: Callable[[], list[list[str]]]
) -> None:
    assert main(["forget", "--config.file", str(config), "--computer", "ex03", DATABASE]) == 0

    assert [each[0] for each in advised()] == ["ex12"]


def test_a_journal_of_a_partition_that_is_damaged_is_named(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = journal_of(config, 7)
    damaged.write_bytes(b"no journal at all" * 512)

    assert main(["advise", "--config.file", str(config)]) == 2
    assert capsys.readouterr().err.startswith(f"esewatch: {damaged}: the journal ")

    assert "journal_damaged" in doctor(config, capsys)
    assert str(damaged) in doctor(config, capsys)["journal_damaged"]


def doctor(config: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Problem -> its sentence and the command."""
    where = ["--config.file", str(config), "--web.address", "127.0.0.1:1"]
    main(["doctor", "--format", "json", *where])
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return {each["problem"]: f"{each['sentence']} {each.get('command')}" for each in found}


def test_doctor_knows_the_databases_of_all_partitions(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", "--config.file", str(config), "--web.address", "127.0.0.1:1"])

    line = capsys.readouterr().out.splitlines()[-1]
    own = config.with_name("journal.db")
    assert line.startswith(
        f"checked the journal {own} and 2 of partitions, 1 source, 2 databases, "
    )


@pytest.mark.skipif(not ROOT, reason="only root can look as another account")
def test_a_journal_of_a_partition_that_may_not_be_written_is_told(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (config.parent, *config.parent.iterdir()):
        os.chown(path, 65534, 65534)
    for folder in config.parents[:-1]:
        folder.chmod(folder.stat().st_mode | 0o011)
    assert "journal_unwritable" not in doctor(config, capsys)
    os.chown(journal_of(config, 12), 0, 0)

    told = doctor(config, capsys)["journal_unwritable"]

    assert str(journal_of(config, 12)) in told
    assert str(journal_of(config, 3)) not in told
