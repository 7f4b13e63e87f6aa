"""The kernels that this installation has, each by itself."""

import importlib
from collections.abc import Callable

import pytest

from esefiles.pages.kernels import Kernel, in_python
from tests.support.tools import skip


def compiled_kernel() -> Kernel:
    """`classify` of the compiled kernel; skips (or fails, see tools.py) the test without it."""
    try:
        module = importlib.import_module("esefiles.pages._kernel")
    except ImportError:
        skip("the compiled kernel is not built (scripts/setup says why)", {"kernel"})
    kernel: Kernel = module.classify
    return kernel


def machine_code(newest: int) -> Callable[[], Kernel]:
    """The compiled kernel by the machine code for processors up to the generation `newest`."""

    def kernel() -> Kernel:
        compiled = compiled_kernel()
        module = importlib.import_module("esefiles.pages._kernel")
        if module.generation() <= newest:
            pytest.skip(f"of this processor, generation {newest} is what `compiled` runs")
        return lambda pages, size, first: compiled(pages, size, first, newest)  # type: ignore[call-arg]

    return kernel


KERNELS: dict[str, Callable[[], Kernel]] = {
    "compiled": compiled_kernel,
    "compiled for any x86-64": machine_code(0),
    "compiled for AVX2": machine_code(1),
    "python": lambda: in_python,
}
