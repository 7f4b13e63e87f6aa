"""`advise --what-if` on the made-up farm: a block below each database, and a key in JSON."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main

NOW = datetime(2007, 6, 21, 12, tzinfo=UTC)


def told(farm: Path, *changes: str, options: tuple[str, ...] = ()) -> list[str]:
    asked = [word for change in changes for word in ("--what-if", change)]
    configuration = str(farm / "esewatch.yml")
    return ["advise", "--config.file", configuration, *asked, *options, str(farm / "logs")]


def objects(text: str) -> dict[str, dict[str, Any]]:
    return {found["ese_instance"]: found for found in map(json.loads, text.splitlines())}


def test_half_the_window_is_answered_below_each_database(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(told(farm, "window=2h")) == 1
    out = capsys.readouterr().out

    assert out.count("  What if its window were 2 h:\n") == 3
    block = out.split("\nSG08 (")[1].split("\n\n")[0].splitlines()
    assert block[-6].startswith("    Days per pass of online defragmentation: 8")
    assert block[-6].endswith(
        "; now 4 to 5 (from 8 complete passes; as used in 35 past nights, scaled from 4 h to 2 h)."
    )
    assert block[-4] == (
        "    A full scan fits into half of one window: yes (it takes 21 min; half of the window is"
        " 1 h)."
    )
    assert block[-2].startswith(
        "    RPC latency added during maintenance: 5% to 20%, likely 10% (published"
    )
    assert block[-1].startswith("    Log volume of online defragmentation per night: unknown (")


def test_all_that_is_asked_is_one_question(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = ("window=2h", "throttle=20ms", "parallel=2", "growth=20%", "zeroing=first")
    main(told(farm, *changes))
    out = capsys.readouterr().out

    assert (
        "  What if its window were 2 h, its scan slept 20 ms more after each read, 2 databases"
        " were scanned at once on its disks, it were 20% larger and its scan began to zero pages:\n"
    ) in out
    assert "    Additional log volume of zeroing per night: unknown (" in out


def test_what_it_does_not_apply_to_is_shown_where_all_is_explained(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "Not applicable: its maintenance is part of garbage collection, every 12 hours."

    main(told(farm, "growth=-10%"))
    assert sentence not in capsys.readouterr().out
    main(told(farm, "growth=-10%", options=("--explain",)))
    out = capsys.readouterr().out
    assert f"  What if it were 10% smaller:\n    {sentence}\n" in out


def test_json_has_it_as_one_more_key_when_it_is_asked(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json_ = ("--format", "json")
    main(told(farm, options=json_))
    plain = objects(capsys.readouterr().out)
    main(told(farm, "window=2h", "throttle=5", options=json_))
    found = objects(capsys.readouterr().out)

    answers = found["SG07"].pop("what_if")
    assert found["SG07"] == plain["SG07"]
    assert list(answers) == [
        "change", "defrag_days", "defrag_days_now", "scan_days", "scan_days_now",
        "scan_in_window", "scan_in_time", "rpc_latency", "defrag_log_bytes",
    ]  # fmt: skip
    assert answers["change"] == {"window": 7200.0, "throttle": 0.005}
    assert 20 <= answers["defrag_days"]["low"] <= 24 <= answers["defrag_days"]["high"] <= 30
    assert answers["scan_in_window"]["answer"] == "yes"
    assert list(answers["defrag_log_bytes"]) == ["because"]
    assert found["NTDSA"]["what_if"] == {
        "change": answers["change"],
        "not_applicable": "its maintenance is part of garbage collection, every 12 hours",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("window=3x", "'window=3x': window must be a duration from 15m to 24h"),
        ("window=5m", "'window=5m': window must be a duration from 15m to 24h"),
        ("window=", "'window=': window must be a duration from 15m to 24h"),
        ("throttle=-1", "throttle must be a number of milliseconds from 0 to 60000, such as 20ms"),
        ("throttle=60001ms", "throttle must be a number of milliseconds from 0 to 60000"),
        ("parallel=0", "parallel must be a whole number from 1 to 16"),
        ("parallel=²", "parallel must be a whole number from 1 to 16"),
        ("growth=20", "growth must be a share of the size from -90% to 1000%, such as 20%"),
        ("growth=nan%", "growth must be a share of the size from -90% to 1000%"),
        ("growth=-91%", "growth must be a share of the size from -90% to 1000%"),
        ("zeroing=maybe", "zeroing must be first (its first pass) or on (later ones)"),
        ("colour=red", "one of these names: window, throttle, parallel, growth, zeroing"),
        ("window", "'window' is not NAME=VALUE"),
        ("", "'' is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    change: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["advise", "--what-if", change])

    error = capsys.readouterr().err
    assert left.value.code == 2
    assert message in error
    assert error.startswith("esewatch advise: argument --what-if: ")
    assert error.count("\n") == 1


def test_the_same_twice_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--what-if", "window=1h", "--what-if", "window=2h"]) == 2
    assert capsys.readouterr().err == "esewatch: --what-if: window is given twice\n"
