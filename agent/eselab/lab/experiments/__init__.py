"""All experiments, and runs of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from eselab.lab.bench import Bench
from eselab.lab.experiments import (
    backup_buffered,
    checkdb_luns,
    checksum_parallel,
    io_reduction,
    old_ratio,
    passive_io,
    scan_kindness,
    write_cache,
    zeroing,
)
from eselab.lab.frame import Experiment, Result

EXPERIMENTS: Final[dict[str, Experiment]] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        old_ratio,
        checksum_parallel,
        scan_kindness,
        zeroing,
        passive_io,
        backup_buffered,
        io_reduction,
        write_cache,
        checkdb_luns,
    )
}
"""By name, in the order of the articles."""


def run_all(
    chosen: Sequence[Experiment], folder: Path, seed: int, tell: Callable[[Experiment], object]
) -> Iterator[Result]:
    """Run them one after another, each in a folder of its name. Raises LabError, OSError.

    `tell` is called after each part of an experiment.
    """
    for experiment in chosen:
        bench = Bench(folder / experiment.name, seed, partial(tell, experiment))
        yield Result(experiment=experiment, findings=experiment.run(bench))
