"""Which file is to blame when the scanning process crashes."""

from typing import Any

from esewatch.sources.page_scan.child_process import MAX_CRASHES, Crashes


class Run:
    """A process as far as the blame goes."""

    def __init__(self, *in_work: str, progressed: bool = False) -> None:
        self.in_work = list(in_work)
        self.tasks = dict.fromkeys(in_work)
        self._progressed = progressed

    def progressed(self, path: str) -> bool:
        return self._progressed


def run(*in_work: str, progressed: bool = False) -> Any:
    return Run(*in_work, progressed=progressed)


def test_a_file_that_was_read_at_a_crash_is_tried_alone_until_it_is_cleared() -> None:
    crashes = Crashes()
    assert crashes.suspect(["a", "b"]) is None

    assert crashes.crashed(run("b", "c")) == []

    assert crashes.suspect(["a", "b", "c"]) == "b"
    crashes.ended_well(run("b"))
    assert crashes.suspect(["a", "b", "c"]) == "c"
    assert crashes.suspect(["a", "b"]) is None


def test_a_file_at_which_it_crashes_again_and_again_is_guilty() -> None:
    crashes = Crashes()
    found = [crashes.crashed(run("a")) for _ in range(MAX_CRASHES)]

    assert found == [[]] * (MAX_CRASHES - 1) + [["a"]]
    assert crashes.suspect(["a"]) is None
    assert crashes.in_a_row == MAX_CRASHES


def test_crashes_with_progress_between_them_make_no_file_guilty() -> None:
    crashes = Crashes()

    assert [crashes.crashed(run("a", progressed=True)) for _ in range(10)] == [[]] * 10
