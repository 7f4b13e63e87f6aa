from esewatch.advice.forecast.forecast import defrag_deadline, scan_deadline
from esewatch.fold.state.state import Pass

DAY = 86400.0


def done(started: float | None, ended: float) -> Pass:
    return Pass(task="x", started=started, ended=ended, outcome="completed")


def running(started: float | None) -> Pass:
    return Pass(task="x", started=started, ended=None, outcome="open")


def test_a_running_scan_has_its_time_from_its_start() -> None:
    assert scan_deadline([done(0, DAY), running(2 * DAY)], 7 * DAY) == 9 * DAY


def test_between_scans_the_next_is_counted_from_the_last_end() -> None:
    assert scan_deadline([done(0, DAY)], 7 * DAY) == 8 * DAY


def test_a_scan_whose_start_was_not_seen_has_no_deadline() -> None:
    assert scan_deadline([done(0, DAY), running(None)], 7 * DAY) is None


def test_defragmentation_is_due_again_after_its_last_completion() -> None:
    assert defrag_deadline([done(0, DAY), running(9 * DAY)], 14 * DAY) == 15 * DAY


def test_defragmentation_that_never_completed_is_counted_from_its_first_start() -> None:
    gave_up = Pass(task="x", started=DAY, ended=3 * DAY, outcome="abandoned")
    assert defrag_deadline([gave_up, running(3 * DAY)], 14 * DAY) == 15 * DAY


def test_the_last_change_of_role_starts_the_time_to_defragment_anew() -> None:
    passes = [done(0, 3 * DAY)]
    assert defrag_deadline(passes, 14 * DAY, [DAY, 5 * DAY]) == 19 * DAY
    assert defrag_deadline(passes, 14 * DAY, [DAY]) == 17 * DAY
    assert defrag_deadline([], 14 * DAY, [DAY]) is None
    assert defrag_deadline(passes, None, [DAY]) is None


def test_without_any_pass_there_is_no_deadline() -> None:
    assert defrag_deadline([], 14 * DAY) is None
    assert scan_deadline([], 7 * DAY) is None
