"""The bench of the kernel, with little to do: what it compares, and how it fails."""

from pathlib import Path

import pytest

from bench import kernel
from tests.support.kernels import compiled_kernel


@pytest.fixture(autouse=True)
def _little_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "PIECES", 1)
    monkeypatch.setattr(kernel, "ROUNDS", 1)


def test_the_compiled_kernel_is_compared_with_an_xor_sum() -> None:
    compiled_kernel()
    figures = kernel.run()

    assert [figure.limit for figure in figures] == [0.4, 0.4]
    assert all(figure.measured > 0 for figure in figures)


def test_without_a_compiler_there_is_nothing_to_compare_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiled_kernel()
    monkeypatch.setenv("CC", str(tmp_path / "cc"))

    with pytest.raises(RuntimeError, match="no XOR sum to compare with"):
        kernel.run()


def test_the_xor_sum_is_optimised_as_the_kernel_is() -> None:
    setup = Path(__file__).parents[2].joinpath("setup.py").read_text(encoding="utf-8")

    assert f"else {list(kernel.OPTIONS)},".replace("'", '"') in setup


def test_a_page_that_is_not_found_good_ends_the_bench() -> None:
    judge = kernel._pass(lambda pages, size, first: bytes(len(pages) // size - 1) + b"\2", 8192)

    with pytest.raises(RuntimeError, match="8192"):
        judge(memoryview(bytes(kernel.PIECE)))
