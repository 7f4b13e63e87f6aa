"""The page sizes of the engine."""

import pytest

SIZES = (4096, 8192, 16384, 32768)

each_page_size = pytest.mark.parametrize(
    "page_size",
    [4096, *(pytest.param(size, marks=pytest.mark.slow) for size in (8192, 16384)), 32768],
)
"""Pages above 8 KB have another header: one size of each kind in each run, all in the slow ones."""
