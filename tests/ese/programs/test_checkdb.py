import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.programs.checkdb import (
    ABORTED,
    COMPLETED,
    CheckdbResult,
    check_in_strings,
    check_in_text,
)
from esewatch.ese.strings import Fields
from tests.support.processor import processor_seconds
from tests.support.samples import sample

SNAPSHOT = (
    "  Internal database snapshot has split point LSN = 00000026:0000089d:0001 and first LSN = "
    "00000026:0000089c:0001.  This is an informational message only. No user action is required."
)


def result(
    errors: int, repaired: int, seconds: int, *, physical: int = 0, command: str = "CHECKDB"
) -> Fields:
    return {
        "command": command,
        "physical_only": physical,
        "errors": errors,
        "repaired": repaired,
        "seconds": seconds,
    }


FORMS: dict[str, tuple[str, CheckdbResult]] = {
    "plain": (
        f"DBCC CHECKDB (mydb) executed by D\\u found 15 errors and repaired 2 errors. "
        f"Elapsed time: 1 hours 3 minutes 23 seconds.{SNAPSHOT}",
        CheckdbResult(COMPLETED, "mydb", result(15, 2, 3803)),
    ),
    "options": (
        "DBCC CHECKDB (TXNDB) WITH all_errormsgs, no_infomsgs, physical_only executed by "
        "NT SERVICE\\SQLSERVERAGENT found 0 errors and repaired 0 errors. "
        "Elapsed time: 0 hours 12 minutes 34 seconds.",
        CheckdbResult(COMPLETED, "TXNDB", result(0, 0, 754, physical=1)),
    ),
    "a degree of parallelism": (
        "DBCC CHECKDB (a) WITH no_infomsgs, maxdop = 4 executed by sa found 0 errors and repaired "
        "0 errors. Elapsed time: 0 hours 0 minutes 1 seconds.",
        CheckdbResult(COMPLETED, "a", result(0, 0, 1)),
    ),
    "repair in an emergency": (
        "EMERGENCY MODE DBCC CHECKDB (emergencydemo, repair_allow_data_loss) WITH no_infomsgs "
        "executed by HOST\\paul found 7 errors and repaired 7 errors. Elapsed time: 0 hours 0 "
        "minutes 1 seconds.",
        CheckdbResult(COMPLETED, "emergencydemo", result(7, 7, 1)),
    ),
    "a name with brackets, a comma and an apostrophe": (
        "DBCC CHECKDB (Bob's (old), 2019, noindex) executed by sa found 0 errors and repaired 0 "
        "errors. Elapsed time: 0 hours 0 minutes 7 seconds.",
        CheckdbResult(COMPLETED, "Bob's (old), 2019", result(0, 0, 7)),
    ),
    "a name that is an option": (
        "DBCC CHECKDB (physical_only) executed by sa found 0 errors and repaired 0 errors. "
        "Elapsed time: 0 hours 0 minutes 7 seconds.",
        CheckdbResult(COMPLETED, "physical_only", result(0, 0, 7)),
    ),
    "one error and an odd user": (
        "DBCC CHECKDB (a) executed by DOMAIN \\ User found 3 found 1 error and repaired 0 errors. "
        "Elapsed time: 100 hours 0 minutes 1 seconds.",
        CheckdbResult(COMPLETED, "a", result(1, 0, 360001)),
    ),
    "without the repaired ones": (
        "DBCC CHECKDB (mydb) executed by D\\u found 15 errors and repaired errors. Elapsed time: "
        "0 hours 0 minutes 0 seconds.",
        CheckdbResult(COMPLETED, "mydb", result(15, 0, 0)),
    ),
    "in two lines": (
        "DBCC CHECKDB (mydb) executed by D\\u found 15 errors and repaired 3 errors.\n"
        "Elapsed time: 0 hours 1 minutes 0 seconds.\n" + SNAPSHOT,
        CheckdbResult(COMPLETED, "mydb", result(15, 3, 60)),
    ),
    "another command": (
        "DBCC CHECKTABLE (mydb.dbo.t) executed by sa found 2 errors and repaired 0 errors. "
        "Elapsed time: 0 hours 0 minutes 5 seconds.",
        CheckdbResult(COMPLETED, "mydb.dbo.t", result(2, 0, 5, command="CHECKTABLE")),
    ),
    "an estimate": (
        "DBCC CHECKDB (mydb) WITH estimateonly executed by sa found 0 errors and repaired 0 "
        "errors. Elapsed time: 0 hours 0 minutes 5 seconds.",
        CheckdbResult(COMPLETED, "mydb", {**result(0, 0, 5), "estimate_only": 1}),
    ),
    "aborted": (
        "DBCC CHECKDB (mydb) WITH physical_only executed by sa terminated abnormally due to error "
        "state 6. Elapsed time: 0 hours 1 minutes 5 seconds.",
        CheckdbResult(
            ABORTED,
            "mydb",
            {"command": "CHECKDB", "physical_only": 1, "state": 6, "seconds": 65},
        ),
    ),
    "Spanish, aborted": (
        "DBCC CHECKDB (ventas) ejecutado por D\\u finalizó de forma anómala debido a un estado de "
        "error 5. Tiempo transcurrido: 0 horas 2 minutos 3 segundos.",
        CheckdbResult(
            ABORTED,
            "ventas",
            {"command": "CHECKDB", "physical_only": 0, "state": 5, "seconds": 123},
        ),
    ),
    "Chinese, aborted": (
        "由于错误状态 5，由 sa 执行的 DBCC CHECKDB (数据) 已异常终止。 "
        "占用时间: 0 小时 2 分钟 3 秒。",
        CheckdbResult(
            ABORTED, "数据", {"command": "CHECKDB", "physical_only": 0, "state": 5, "seconds": 123}
        ),
    ),
    "another language, a name with brackets": (
        "DBCC CHECKDB (Lager (alt) 2) x D\\u z 3 f und 2 g. h: 26 Stunden 3 Minuten 4 Sekunden.",
        CheckdbResult(COMPLETED, "Lager (alt) 2", result(3, 2, 93784)),
    ),
    "another language, a name with half a bracket": (
        "DBCC CHECKDB (Lager (alt) x D\\u z 3 f und 2 g. h: 0 Stunden 0 Minuten 4 Sekunden.",
        CheckdbResult(COMPLETED, "Lager (alt", result(3, 2, 4)),
    ),
    "French, where the numbers of the snapshot have another name": (
        "DBCC CHECKDB (a) exécuté par sa a trouvé 0 erreurs et réparé 0 erreurs. Temps écoulé : 0 "
        "heures 12 minutes 34 secondes. NSE = 00000026:0000089d:0001 et 00000026:0000089c:0001.",
        CheckdbResult(COMPLETED, "a", result(0, 0, 754)),
    ),
    "another language": (
        "DBCC CHECKDB (Lager) WITH no_infomsgs, physical_only x y DOM\\sql2019 z 15 f und 2 g. "
        "h: 1 Stunden 3 Minuten 23 Sekunden. Interner LSN = 00000026:0000089d:0001",
        CheckdbResult(COMPLETED, "Lager", result(15, 2, 3803, physical=1)),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_result_is_read(form: str) -> None:
    text, expected = FORMS[form]

    assert check_in_text(text) == expected
    assert check_in_text(f"2014-11-20 01:00:03.11 spid53      {text}") == expected


def test_the_result_in_a_real_log_is_read() -> None:
    text = sample("other/sql-errorlog-checkdb.txt").read_text(encoding="utf-8")
    found = [check for line in text.splitlines() if (check := check_in_text(line)) is not None]

    assert found == [
        CheckdbResult(COMPLETED, "mydb", result(15, 0, 0)),
        CheckdbResult(COMPLETED, "ProductionData", result(0, 0, 199)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "CHECKDB for database 'master' finished without errors on 2019-05-05 18:08:22.803 (local "
        "time). This is an informational message only; no user action is required.",
        "Complete a full database consistency check (DBCC CHECKDB). This error can be caused by 5",
        "CHECKDB found 0 allocation errors and 15 consistency errors in database 'mydb'.",
        "REPAIR_ALLOW_DATA_LOSS is the minimum repair level found by DBCC CHECKDB (mydb).",
        "DBCC CHECKDB (mydb executed by sa found 1 errors and repaired 0 errors.",
        "DBCC CHECKDB (mydb) 1 2",
        "DBCC CHECKDB (a) executed by sa found 1,234 errors and repaired 0 errors. Elapsed time: 0 "
        "hours 0 minutes 14 seconds.",
        "DBCC CHECKDB (a) x: 1.234 f, 0 g. h: 0 Stunden 1 Minuten 2 Sekunden.",
        "1.5 DBCC CHECKDB (a) x h: 0 Stunden 1 Minuten 2 Sekunden.",
        "",
    ],
)
def test_what_is_no_result_is_none(text: str) -> None:
    assert check_in_text(text) is None


def test_an_absurd_duration_is_no_duration() -> None:
    text = (
        "DBCC CHECKDB (a) executed by sa found 1 errors and repaired 0 errors. "
        "Elapsed time: 999999999 hours 0 minutes 0 seconds."
    )
    found = check_in_text(text)

    assert found is not None
    assert found.fields == {"command": "CHECKDB", "physical_only": 0, "errors": 1, "repaired": 0}


def test_strings_are_the_pieces_of_the_sentence() -> None:
    head = ("", "CHECKDB", "my db", "", "", " WITH no_infomsgs, physical_only", "DOM\\u")

    assert check_in_strings((*head, "15", "2", "1", "3", "23", "Internal ...")) == CheckdbResult(
        COMPLETED, "my db", result(15, 2, 3803, physical=1)
    )
    assert check_in_strings((*head, "6", "0", "1", "5")) == CheckdbResult(
        ABORTED, "my db", {"command": "CHECKDB", "physical_only": 1, "state": 6, "seconds": 65}
    )
    assert check_in_strings(("", "CHECKDB", "a", ", ", "repair_rebuild", "", "u", "-1", "x")) == (
        CheckdbResult(COMPLETED, "a", {"command": "CHECKDB", "physical_only": 0})
    )
    assert check_in_strings(("", "CHECKDB")) is None
    assert check_in_strings(("1", "2")) is None


@pytest.mark.parametrize("piece", [") executed by ", "DBCC CHECKDB (", "(a) WITH a", "found 1 "])
def test_a_hostile_line_is_read_in_a_moment(piece: str) -> None:
    text = "DBCC CHECKDB (" + piece * (8192 // len(piece))
    found: list[object] = []

    assert processor_seconds(lambda: found.append(check_in_text(text))) < 0.5
    assert found == [None]


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=14))
def test_no_input_breaks_the_reading(text: str, strings: list[str]) -> None:
    for found in (
        check_in_text(f"DBCC CHECKDB ({text}"),
        check_in_text(f"{text} DBCC CHECKDB (a) {text}"),
        check_in_strings(("CHECKDB", *strings)),
    ):
        assert found is None or found.event_id in {COMPLETED, ABORTED}
