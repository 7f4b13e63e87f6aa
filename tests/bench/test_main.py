"""The runner of benches: what it prints, what it writes, how it ends."""

import sys
import types
from pathlib import Path

import pytest

from bench import __main__ as runner
from bench.figure import Figure, paired


def offer(monkeypatch: pytest.MonkeyPatch, *figures: Figure, fails: str = "") -> None:
    """Put a bench of these figures in the place of `idle`."""

    def run() -> list[Figure]:
        if fails:
            raise RuntimeError(fails)
        return list(figures)

    module = types.ModuleType("bench.idle")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bench.idle", module)


KEPT = Figure("idle CPU", 0.2, "%", "under", 0.5, "50 databases")


@pytest.mark.parametrize(
    ("figure", "holds"),
    [
        (Figure("a", 3.0, "x", "at least", 3.0), True),
        (Figure("a", 2.99, "x", "at least", 3.0), False),
        (Figure("a", 3.0, "x", "under", 3.0), False),
        (Figure("a", 2.99, "x", "under", 3.0), True),
        (Figure("a", 99.0, "x"), True),
    ],
)
def test_a_limit_is_kept_or_not(figure: Figure, holds: bool) -> None:
    assert figure.holds is holds


def test_a_figure_that_keeps_its_limit_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(monkeypatch, KEPT)

    assert runner.main(["idle"]) == 0
    assert capsys.readouterr().out == "idle CPU: 0.2 % (under 0.5 %) 50 databases\n"


def test_a_figure_that_does_not_is_marked_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(monkeypatch, KEPT._replace(measured=0.6))

    assert runner.main(["idle"]) == 1
    assert "**not kept**" in capsys.readouterr().out


def test_a_bench_that_cannot_be_run_ends_with_2_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(monkeypatch, fails="mtail is not installed")

    assert runner.main(["idle"]) == 2
    assert capsys.readouterr().err == "bench idle: mtail is not installed\n"


def test_a_name_that_is_no_bench_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        runner.main(["fast"])

    assert ended.value.code == 2
    assert "no such bench: fast" in capsys.readouterr().err


def test_new_rows_take_the_place_of_those_of_the_same_bench(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "performance.md"
    other = "| text | 3 x | at least 3 x | 150 MB | `python -m bench text` | 2026-11-20 |"
    page.write_text(f"{runner.INTRODUCTION}{other}\n", encoding="utf-8")
    offer(monkeypatch, KEPT._replace(measured=0.4), KEPT._replace(what="another"))
    runner.main(["idle", "--write", str(page)])
    offer(monkeypatch, KEPT)
    runner.main(["idle", "--write", str(page)])

    text = page.read_text(encoding="utf-8")
    rows = text.removeprefix(runner.INTRODUCTION).splitlines()
    assert text.startswith(runner.INTRODUCTION)
    assert [row.split(" | ")[:2] for row in rows] == [["| idle CPU", "0.2 %"], ["| text", "3 x"]]


def test_a_ratio_is_taken_pair_by_pair() -> None:
    calls: list[str] = []
    ours, peer, ratio = paired(lambda: calls.append("ours"), lambda: calls.append("peer"), 3)

    assert calls == ["ours", "peer"] * 4
    assert min(ours, peer, ratio) > 0
