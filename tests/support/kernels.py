"""The kernels that this installation has, each by itself."""

import importlib
from collections.abc import Callable

from esewatch.ese.pages import kernel_python
from tests.support.tools import skip

Kernel = Callable[[memoryview, int, int], bytes]


def compiled_kernel() -> Kernel:
    """`classify` of the compiled kernel; skips (or fails, see tools.py) the test without it."""
    try:
        module = importlib.import_module("esewatch.ese.pages._kernel")
    except ImportError:
        skip("the compiled kernel is not built (scripts/setup says why)", {"kernel"})
    kernel: Kernel = module.classify
    return kernel


def numpy_kernel() -> Kernel:
    """`classify` of the kernel in numpy, which every development environment has."""
    kernel: Kernel = importlib.import_module("esewatch.ese.pages.kernel_numpy").classify
    return kernel


KERNELS: dict[str, Callable[[], Kernel]] = {
    "compiled": compiled_kernel,
    "numpy": numpy_kernel,
    "python": lambda: kernel_python.classify,
}
