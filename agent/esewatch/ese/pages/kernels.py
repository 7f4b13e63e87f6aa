"""Verification of many pages at once, by the fastest kernel that is available.

`compiled` is _kernel.c, `numpy` needs numpy, `python` needs nothing and is the slowest.
"""

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Final, Literal

from esewatch.ese.pages.layout import PAGE_SIZES
from esewatch.model import EsewatchError

Pages = bytes | bytearray | memoryview
Name = Literal["compiled", "numpy", "python"]

_MODULES: Final[dict[Name, str]] = {
    "compiled": "esewatch.ese.pages._kernel",
    "numpy": "esewatch.ese.pages.kernel_numpy",
    "python": "esewatch.ese.pages.kernel_python",
}


def _choose() -> Name:
    try:
        importlib.import_module(_MODULES["compiled"])
    except ImportError:
        # Not loaded before it is used: numpy is large, and the daemon only names its kernel.
        return "numpy" if importlib.util.find_spec("numpy") else "python"
    return "compiled"


NAME: Final = _choose()


def classify(pages: Pages, page_size: int, first: int) -> bytes:
    """One byte for each whole page: GOOD, BLANK or SUSPECT as page `first`, `first` + 1, …

    GOOD: the checksums hold, and the number of a large page. A rest shorter than a page is
    left out; numbers count modulo 2^32, as they are stored. Safe to call from many threads.
    ValueError: `page_size` is none of PAGE_SIZES. TypeError: `pages` are not contiguous bytes.
    EsewatchError: numpy is installed and cannot be loaded.
    """
    if page_size not in PAGE_SIZES:
        raise ValueError(f"page size {page_size}: not one of {PAGE_SIZES}")
    return _loaded(NAME)(memoryview(pages).cast("B"), page_size, first)


@cache
def _loaded(name: Name) -> Callable[[memoryview, int, int], bytes]:
    try:
        kernel = importlib.import_module(_MODULES[name])
    except ImportError as error:
        raise EsewatchError(f"numpy is installed and cannot be loaded: {error}") from error
    classes: Callable[[memoryview, int, int], bytes] = kernel.classify
    return classes
