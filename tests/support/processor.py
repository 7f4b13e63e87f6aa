"""What work costs the processor: the time of a claim that does not depend on what else runs."""

import gc
import time
from collections.abc import Callable


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process while `work` is done.

    Without a collection of garbage: that of the whole test run may come in the middle.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        if collects:
            gc.enable()
