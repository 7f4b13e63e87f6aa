"""States that the page tests share: one database of each kind, each with its own story."""

import msgspec

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import Finding
from esewatch.advice.judgement import Judgement, Verdict
from esewatch.advice.window.ratio import defrag_ratio
from esewatch.config import Policy, default_settings
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import (
    BadPage,
    Channel,
    Database,
    Host,
    Instance,
    SourceState,
    State,
    Transition,
)

DAY = 86400.0
NOW = 1_182_900_000.0
"""2007-06-26 23:20 UTC."""

HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}\u202eexe.bde"

PRIV06 = ("ex01", "e:\\mdb06\\priv06.edb")
PRIV03 = ("ex02", "j:\\sg3\\priv3.edb")
NTDS = ("dc01", "c:\\windows\\ntds\\ntds.dit")
MBX = ("ex19", "d:\\db01\\db01.edb")
SEARCH = ("ws07", "c:\\programdata\\microsoft\\search\\windows.edb")
STRANGE = ("ws07", HOSTILE)


def exchange_2007() -> Database:
    """Model `window`: fourteen nights of defragmentation, and a clean checksum pass."""
    nights = []
    for night in range(20):
        start = NOW - (21 - night) * DAY
        nights.append(Transition(start, 10 * night, 700 if night % 7 == 0 else 702))
        if night % 7 == 6:
            fields: dict[str, int | float] = {
                "pages_freed": 42_794,
                "seconds": 124_919,
                "invocations": 7,
                "days": 6,
            }
            nights.append(Transition(start + 4000, 10 * night + 1, 703, fields))
        else:
            nights.append(Transition(start + 4 * 3600, 10 * night + 1, 704))
    scan: dict[str, int | float] = {
        "seconds": 208,
        "invocations": 2,
        "days": 1,
        "pages_seen": 5_850_768,
        "bad_checksums": 0,
        "uninitialized_pages": 72_682,
    }
    nights += [
        Transition(NOW - 2 * DAY, 900, 717),
        Transition(NOW - 2 * DAY + 208, 901, 721, scan),
    ]
    return Database(
        computer=PRIV06[0],
        database=PRIV06[1],
        path="E:\\MDB06\\priv06.edb",
        ese_instance="SG06",
        process="MSExchangeIS",
        provider="ESE",
        role="active",
        generation="2007",
        first_seen=NOW - 21 * DAY,
        last_seen=NOW - 3600,
        maintenance_seen=True,
        size_bytes=47_929_491_456.0,
        free_bytes=2_147_483_648.0,
        transitions=pack(nights),
        slow_io={"read": 3},
        slow_io_last_seconds={"read": 17.0},
        slow_io_last={"read": NOW - 3 * DAY},
    )


def damaged() -> Database:
    """Model `window`, with a page that is bad, one that a write missed and two without a place."""
    summary: dict[str, int | float] = {"seconds": 900, "invocations": 1, "bad_checksums": 2}
    return Database(
        computer=PRIV03[0],
        database=PRIV03[1],
        path="J:\\sg3\\priv3.edb",
        ese_instance="SG03",
        process="MSExchangeIS",
        provider="ESE",
        generation="2007",
        first_seen=NOW - 30 * DAY,
        last_seen=NOW - 600,
        maintenance_seen=True,
        transitions=pack(
            [
                Transition(NOW - 20 * DAY, 1, 700),
                Transition(NOW - 20 * DAY + 7200, 2, 704),
                Transition(NOW - 10 * DAY, 3, 718),
                Transition(NOW - 10 * DAY + 900, 4, 722, summary),
                Transition(NOW - 2 * DAY, 5, 717),
                Transition(NOW - 2 * DAY + 60, 6, 723),
            ]
        ),
        bad_pages=[
            BadPage(page=4711, kind="uncorrectable", first=NOW - 3 * DAY, last=NOW - DAY),
            BadPage(
                page=17, kind="lost_flush", first=NOW - 40 * DAY, last=NOW - 40 * DAY, age="history"
            ),
            BadPage(page=99, kind="corrected", first=NOW - 5 * DAY, last=NOW - 5 * DAY),
        ],
        page_errors={"checksum": 3, "lost_flush": 1, "corrected": 1},
        page_error_last={
            "checksum": NOW - DAY,
            "lost_flush": NOW - 40 * DAY,
            "corrected": NOW - 5 * DAY,
        },
        page_error_spans=[(at, at) for at in (NOW - 40 * DAY, NOW - 3 * DAY, NOW - DAY)],
        hung_io={"write": 1},
        hung_io_last={"write": NOW - DAY},
    )


def domain_controller() -> Database:
    """Model `garbage_collection`: a pass every 12 hours that frees nothing."""
    fields: dict[str, int | float] = {"pages_freed": 0, "seconds": 0, "invocations": 1}
    passes: list[Transition] = []
    for half_day in range(40):
        start = NOW - 20 * DAY + half_day * DAY / 2
        passes += [
            Transition(start, 2 * half_day, 700),
            Transition(start + 1, 2 * half_day + 1, 701, fields),
        ]
    return Database(
        computer=NTDS[0],
        database=NTDS[1],
        path="C:\\Windows\\NTDS\\ntds.dit",
        ese_instance="NTDSA",
        process="NTDS",
        provider="NTDS ISAM",
        first_seen=NOW - 20 * DAY,
        last_seen=NOW,
        maintenance_seen=True,
        transitions=pack(passes),
    )


def current_exchange() -> Database:
    """Model `background`: a scan of a passive copy that takes weeks and is late."""
    return Database(
        computer=MBX[0],
        database=MBX[1],
        path="D:\\DB01\\DB01.edb",
        ese_instance="DB01",
        process="Microsoft.Exchange.Store.Worker",
        provider="ESE",
        role="passive",
        generation="current",
        first_seen=NOW - 60 * DAY,
        last_seen=NOW - 300,
        maintenance_seen=True,
        transitions=pack(
            [
                Transition(NOW - 50 * DAY, 1, 717),
                Transition(NOW - 27 * DAY, 2, 732, {"seconds": 1_987_200, "run_bad_checksums": 0}),
                Transition(NOW - 26 * DAY, 3, 717),
                Transition(NOW - 3 * DAY, 4, 733),
            ]
        ),
    )


def example() -> State:
    """All of them, their counters, sources and a gap."""
    strange = Database(
        computer=STRANGE[0], database=STRANGE[1], path=HOSTILE, ese_instance=HOSTILE,
        first_seen=NOW - DAY, last_seen=NOW,
    )  # fmt: skip
    search = Database(
        computer=SEARCH[0], database=SEARCH[1], process="SearchIndexer", provider="ESENT",
        first_seen=NOW - 9 * DAY, last_seen=NOW,
    )  # fmt: skip
    found = [exchange_2007(), damaged(), domain_controller(), current_exchange(), search, strange]
    counters = {
        ("ex01", "sg06"): ("SG06", 6_128_300.0, 42_794.0),
        ("ex02", "sg03"): ("SG03", 900_000.0, 31_000.0),
        ("dc01", "ntdsa"): ("NTDSA", 123_456.0, 7_890.0),
        ("ex05", "sg01"): ("SG01", 5_000_000.0, 0.0),
    }
    return State(
        databases={(each.computer, each.database): each for each in found},
        instances={
            key: Instance(
                computer=key[0],
                ese_instance=name,
                totals={
                    "ese_defrag_pages_read_total": read,
                    "ese_defrag_pages_freed_total": freed,
                },
                gap_seconds=5400.0,
            )
            for key, (name, read, freed) in counters.items()
        },
        hosts={
            "ex19": Host(
                computer="ex19",
                counters_present={
                    "Online Defrag Pages Freed/sec": False,
                    "Online Defrag Pages Read/sec": False,
                    "I/O Database Reads/sec": True,
                },
            )
        },
        channels={
            ("ex02", "Application"): Channel(
                computer="ex02", channel="Application", gaps=[(NOW - 9 * DAY, NOW - 8 * DAY, 1234)]
            )
        },
        sources={
            "evtx-1": SourceState(
                name="evtx-1", up=True, caught_up=True, baseline=False, records=123_456,
                missed=1234, unreadable=2, last_record=NOW, computers=["ex01", "ex02", "dc01"],
            ),
            "perfmon_csv-1": SourceState(
                name="perfmon_csv-1", up=True, records=4_567, last_record=NOW - DAY,
                backlog_bytes=73_400_320, computers=["ex01"],
            ),
            "gone": SourceState(name="gone"),
        },
    )  # fmt: skip


def many(databases: int, computers: int) -> tuple[State, list[Judgement]]:
    """So many databases like SG06, each with the same story, and what is advised of them."""
    (like,) = advise(State(databases={PRIV06: exchange_2007()}), default_settings(), NOW)
    story = Finding("verification_overdue", "last verified 2007-06-01 03:14 UTC by online_scan")
    state, advice = State(), []
    for serial in range(databases):
        computer, label = f"ex{serial % computers:03}", f"e:\\mdb{serial:04}\\priv.edb"
        each = exchange_2007()
        each.computer, each.database, each.path = computer, label, label.upper()
        each.ese_instance = f"SG{serial:04}"
        state.databases[computer, label] = each
        change = {"computer": computer, "database": label}
        advice.append(told_of(msgspec.structs.replace(like, **change), story))
    return state, advice


def told_of(judged: Judgement, *findings: Finding, verdict: Verdict = "unverified") -> Judgement:
    """The judgement with these findings in place of its own."""
    stale = (f"may be old: {judged.stale}",) if judged.stale else ()
    reasons = (*(each.sentence for each in findings), *stale)
    return msgspec.structs.replace(judged, findings=findings, reasons=reasons, verdict=verdict)


def with_counted_ratios(state: State) -> list[Judgement]:
    """The judgements, with the ratio of all counter samples of a window."""
    return [
        msgspec.structs.replace(
            each,
            ratio=defrag_ratio(
                state.instances.get(instance_key(state.databases[each.computer, each.database])),
                Policy(),
            )
            if each.model == "window"
            else None,
        )
        for each in advise(state, default_settings(), NOW)
    ]
