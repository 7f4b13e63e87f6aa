"""A database cache below the published guidance, of stores whose mailboxes are configured."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.risk import small_caches
from esewatch.advice.history.history import History
from esewatch.config import DatabaseRule, default_settings
from esewatch.fold.state.state import Host, Instance, Level, State, series

NOW = 1_182_384_840.0
DAY = 86400.0
GB = 1 << 30
MB = 1 << 20
SG06 = ("ex01", "j:\\sg06\\priv06.edb")
SG07 = ("ex01", "j:\\sg07\\priv07.edb")


def history(key: tuple[str, str], **more: Any) -> History:
    """A database of the store of Exchange 2007, 200 GB of it."""
    settled: dict[str, Any] = {
        "process": "Information Store",
        "ese_instance": key[1][3:7],
        "size_bytes": 200.0 * GB,
        "model": "window",
    }
    return History(computer=key[0], database=key[1], **(settled | more))


def found(
    *histories: History,
    heard: float = 0.0,
    cache: Mapping[str, float],
    ago: float = 15.0,
    started: float | None = NOW - 3 * DAY,
    per_mailbox: int = 5,
) -> dict[tuple[str, str], Finding]:
    """What is found of 800 mailboxes in each of the databases; `cache` in bytes by process."""
    levels = {
        series("ese_cache_size_bytes", (process,)): Level(size, NOW - ago, 15.0)
        for process, size in cache.items()
    }
    life = [(started, 0, 102)] if started is not None else []
    state = State(
        hosts={"ex01": Host(computer="ex01", levels=levels, first_heard=heard)},
        instances={
            (each.computer, each.ese_instance.lower()): Instance(
                computer=each.computer, ese_instance=each.ese_instance, life=life
            )
            for each in histories
        },
    )
    settings = default_settings()
    settings = msgspec.structs.replace(
        settings,
        databases=[
            DatabaseRule(computer=each.computer, match=each.database, mailboxes=800)
            for each in histories
            if each.name != "unconfigured"
        ],
        policy=msgspec.structs.replace(settings.policy, cache_per_mailbox=per_mailbox * MB),
    )
    return small_caches(state, settings, {(h.computer, h.database): h for h in histories}, NOW)


def test_a_cache_below_the_guidance_is_found_with_both_figures_and_the_source() -> None:
    assert found(history(SG06), history(SG07), cache={"Information Store": 900 * MB}) == {
        key: Finding(
            "cache_small",
            "the store of its computer has a database cache of 900 MiB; its 1,600 configured"
            " mailboxes should have 8,000 MiB (cache_per_mailbox; published for Exchange 2007, with"
            " 2 GB of memory beside the cache)",
        )
        for key in (SG06, SG07)
    }


@pytest.mark.parametrize("process", ["Information Store", "information store#1"])
def test_a_cache_of_the_guidance_is_no_finding(process: str) -> None:
    assert found(history(SG06), cache={process: 800 * 5 * MB}) == {}


def test_caches_of_the_workers_of_a_store_count_together_and_others_do_not() -> None:
    worker = "Microsoft.Exchange.Store.Worker"
    enough = {f"{worker}#{number}": 2000.0 * MB for number in range(2)}
    assert found(history(SG06, process=worker), cache=enough) == {}
    other = {f"{worker}#1": 2000.0 * MB, "svchost": 9000.0 * MB}
    assert SG06 in found(history(SG06, process=worker), cache=other)


def test_the_guidance_is_that_of_the_policy() -> None:
    cache = {"Information Store": 2000.0 * MB}
    assert SG06 in found(history(SG06), cache=cache)
    assert found(history(SG06), cache=cache, per_mailbox=2) == {}


@pytest.mark.parametrize(
    "unknown",
    [
        {"cache": {}},
        {"cache": {"Information Store": 900.0 * MB}, "ago": 3600.0},
        {"cache": {"Information Store": 900.0 * MB}, "started": NOW - DAY / 2},
        {"cache": {"Information Store": 900.0 * MB}, "started": None},
    ],
)
def test_nothing_is_said_without_a_fresh_sample_of_a_store_that_is_up_for_a_day(
    unknown: dict[str, Any],
) -> None:
    assert SG06 in found(history(SG06), cache={"Information Store": 900.0 * MB})
    assert found(history(SG06), **unknown) == {}


def test_a_store_whose_start_is_older_than_its_log_is_up_since_the_log_begins() -> None:
    cache = {"Information Store": 900.0 * MB}
    assert SG06 in found(history(SG06), cache=cache, started=None, heard=NOW - 2 * DAY)
    assert found(history(SG06), cache=cache, started=None, heard=NOW - DAY / 2) == {}


@pytest.mark.parametrize(
    "other",
    [
        {"role": "passive"},
        {"tier": "observed"},
        {"name": "unconfigured"},
        # The engine caches no more than there is.
        {"size_bytes": 800.0 * MB},
        {"size_bytes": None},
    ],
)
def test_only_watched_active_databases_that_are_large_enough_are_judged(
    other: dict[str, Any],
) -> None:
    assert found(history(SG06, **other), cache={"Information Store": 900.0 * MB}) == {}
