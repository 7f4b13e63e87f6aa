"""What esewatch says in twelve real situations is what an administrator must learn."""

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.history import HOUR
from tests.situations.asking import ask, command, server_room
from tests.situations.cases import SITUATIONS, Copy, Situation
from tests.situations.engines import channels
from tests.support.in_process import Said

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {situation.name: situation for situation in SITUATIONS}
COPIES = [(situation.name, copy) for situation in SITUATIONS for copy in situation.copies]
EXCHANGE = ["exchange-pair", "exchange-switchover"]

each_situation = pytest.mark.parametrize("situation", SITUATIONS, ids=list(BY_NAME))
each_copy = pytest.mark.parametrize(
    ("name", "copy"), COPIES, ids=[f"{name}-{copy.computer}" for name, copy in COPIES]
)


@cache
def advice(name: str, *options: str) -> Said:
    """What `advise` says in the situation."""
    told = BY_NAME[name].history()
    with server_room(told):
        return ask(*command(told), *options)


def objects(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What is advised, by computer and database."""
    lines = advice(name, "--format", "json").out.splitlines()
    return {(one["computer"], one["database"]): one for one in map(json.loads, lines)}


def said_of(name: str, copy: Copy) -> dict[str, Any]:
    """What is advised of one database."""
    found = objects(name)
    assert (copy.computer, copy.database) in found, BY_NAME[name].told
    return found[copy.computer, copy.database]


def seconds(stamp: str) -> float:
    """The time that an answer names."""
    return datetime.fromisoformat(stamp).timestamp()


@each_situation
def test_the_databases_are_those_of_the_servers(situation: Situation) -> None:
    expected = {(copy.computer, copy.database) for copy in situation.copies}

    assert set(objects(situation.name)) == expected, situation.told


@each_copy
def test_model_tier_and_action(name: str, copy: Copy) -> None:
    said = said_of(name, copy)

    found = (said["model"], said["tier"], said["action"])
    assert found == (copy.model, copy.tier, copy.action), BY_NAME[name].told


@each_copy
def test_findings(name: str, copy: Copy) -> None:
    found = {each["finding"] for each in said_of(name, copy)["findings"]}

    assert found == set(copy.findings), BY_NAME[name].told


@each_copy
def test_what_verified_every_page_and_when(name: str, copy: Copy) -> None:
    verified = said_of(name, copy).get("verified", {})

    found = {by: seconds(stamp) for by, stamp in verified.items()}
    assert found == pytest.approx(copy.verified, abs=1.0), BY_NAME[name].told


@each_copy
def test_a_deadline_has_passed_only_where_something_is_late(name: str, copy: Copy) -> None:
    deadline = said_of(name, copy).get("forecast", {}).get("deadline")
    now = max(
        records[-1].time
        for (computer, _), records in channels(BY_NAME[name].history()).items()
        if computer.partition(".")[0].lower() == copy.computer
    )

    passed = deadline is not None and seconds(deadline) < now
    assert passed <= copy.late, (deadline, BY_NAME[name].told)


@each_copy
def test_a_length_is_recommended_only_for_a_window(name: str, copy: Copy) -> None:
    said = said_of(name, copy)

    if copy.window is None:
        assert not {"configured_seconds", "recommended_seconds"} & set(said)
    else:
        configured, least, most = copy.window
        assert said["configured_seconds"] == configured
        assert least <= said["recommended_seconds"] <= most
        assert said["recommended_seconds"] % (HOUR / 4) == 0


@each_situation
def test_the_exit_status_asks_for_a_person_where_one_is_needed(situation: Situation) -> None:
    said = advice(situation.name)

    assert said.status == situation.status, situation.told
    assert "Traceback" not in said.err


@each_situation
def test_the_text_says_what_it_must_and_nothing_that_is_wrong(situation: Situation) -> None:
    said = advice(situation.name)
    text = said.out + said.err

    for pattern in situation.says:
        assert re.search(pattern, text), (pattern, situation.told, text)
    for pattern in situation.says_once:
        assert len(re.findall(pattern, text)) == 1, (pattern, situation.told, text)
    for pattern in situation.never_says:
        assert not re.search(pattern, text), (pattern, situation.told, text)


@pytest.mark.parametrize("name", EXCHANGE)
def test_the_role_of_a_copy_is_that_of_its_last_scan(name: str) -> None:
    told = BY_NAME[name].history()
    with server_room(told):
        done = ask("replay", "logs/", "-o", "info.om", "--match", "ese_database_info",
                   "--step", "1h")  # fmt: skip
        lines = "".join(file.read_text() for file in Path().glob("info*.om")).splitlines()
    last: dict[str, tuple[float, str]] = {}
    for line in lines:
        found = re.match(r'ese_database_info\{computer="(\w+)".*role="(\w*)".*\} 1 ([\d.]+)$', line)
        if found:
            computer, role, time = found.groups()
            last[computer] = max(last.get(computer, (0.0, "")), (float(time), role))

    assert done.status == 0
    assert {computer: role for computer, (_, role) in last.items()} == {
        copy.computer: copy.role for copy in BY_NAME[name].copies
    }


@each_situation
def test_a_log_is_of_one_to_two_months_and_numbered_without_a_gap(situation: Situation) -> None:
    told = situation.history()

    for records in channels(told).values():
        numbers = [record.record_id or 0 for record in records]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert 29 <= (records[-1].time - records[0].time) / 86400 <= 62
    assert told.now == max(record.time for record in told.records)


@each_copy
def test_a_verification_is_expected_when_a_record_says_that_all_pages_were_read(
    name: str, copy: Copy
) -> None:
    completed = {
        "online_scan": {732, 737},
        "streaming_backup": {213},
    }
    records = [
        record
        for (computer, _), found in channels(BY_NAME[name].history()).items()
        if computer.partition(".")[0].lower() == copy.computer
        for record in found
    ]

    for by, time in copy.verified.items():
        ids = {record.event_id for record in records if abs(record.time - time) < 1}
        assert ids & completed[by]


def test_there_are_twelve_situations_with_names_of_their_own() -> None:
    assert len(BY_NAME) == len({situation.title for situation in SITUATIONS}) == 12
