"""A mailbox store that is killed at any moment has all that was durable, and nothing else."""

import random
import shutil
import time
from functools import partial
from pathlib import Path

import msgspec
import pytest

from eselab.disk.disk import RealDisk
from eselab.machine.mail import Mailboxes
from eselab.storage.database import Database
from tests.eselab.killing import killed
from tests.eselab.mailing import MIDNIGHT, NAME, Model, Records, create, expect_consistent
from tests.eselab.mailing_process import Line

LONGEST = 0.4
"""Seconds from the opening of the database to the kill, at most."""


def told(journal: Path, model: Model, now: float) -> float:
    """Bring the model up to what the journal says; the time that it tells last, or `now`."""
    if not journal.exists():
        return now
    # A line without its end was being written: what it intends was not committed.
    for text in journal.read_bytes().split(b"\n")[:-1]:
        line = msgspec.json.decode(text, type=Line)
        if line.rows:
            model.intended(line.rows)
        elif line.word == "durable":
            model.durable()
            now = line.now
        else:
            model.given_up()
    journal.unlink()
    return now


def found(folder: Path, copy: Path) -> Records:
    """What the next opening finds; of a copy, for the next process is to do its own."""
    shutil.copytree(folder, copy)
    database = Database.open(RealDisk(copy), NAME, cache_pages=50, now=3e9)
    records = Mailboxes(database).records()
    database.close(3e9)
    shutil.rmtree(copy)
    return records


def check_kills(place: Path, kills: int, seed: int) -> None:
    folder, chance, now = place / "live", random.Random(seed), MIDNIGHT
    folder.mkdir()
    create(RealDisk(folder, durable=False), 40, seed).database.close(MIDNIGHT)
    records, written = found(folder, place / "copy"), 0
    for kill in range(kills):
        model = Model(records)
        moment = chance.uniform(0, LONGEST)
        killed(
            "tests.eselab.mailing_process",
            folder,
            seed + kill,
            now,
            says=[b"opening\n"],
            moment=partial(time.sleep, moment),
        )
        now = told(place / "live.journal", model, now)
        before, records = records, found(folder, place / "copy")
        assert model.allows(records)
        expect_consistent(records)
        written += before != records
    assert written > kills // 4


@pytest.mark.slow
def test_five_kills_lose_no_message_that_was_durable(tmp_path: Path) -> None:
    check_kills(tmp_path, 5, 1)


@pytest.mark.slow
def test_sixty_kills_lose_no_message_that_was_durable(tmp_path: Path) -> None:
    check_kills(tmp_path, 60, 100)
