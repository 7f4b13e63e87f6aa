"""docs/reference/lab.md, made of a run of all experiments."""

import tempfile
from pathlib import Path

from eselab.lab.experiments import EXPERIMENTS, run_all
from eselab.lab.frame import Result
from eselab.lab.output import markdown as section

INTRODUCTION = """\
# Lab

Written by `make lab`; do not edit.

The experiments compare their results with the figures of the articles that esewatch is based on:

    esewatch lab list
    esewatch lab run
    esewatch lab run checksum-parallel checkdb-luns -o lab.html

`lab run` without names runs all. `--format json` prints one object for each figure, statement and
experiment; `-o` writes a page with pictures. `--seed` sets all random choices. `--dir` is the
working folder; it is kept afterwards and must be empty for each experiment.

- *Published* is the article's figure, *ours* is the result here. Machines of 2007 and ours differ,
  so ratios are compared: ours divided by the published one. Between 0.5 and 2 the shape is as
  published, if the same side is the larger one.
- A statement that is not as published is a result too; the reason is below the table.
- Figures of real files are measured several times: the table has the median and the range. A
  statement is *not decided* if these runs disagree, or if the cause that the article names was not
  present.
- Each figure has a kind. *engine-counted*: counted by the [bundled engine](../engine.md). *modelled
  disk*: measured on drives that are modelled by data sheets, one set for all experiments. *real
  files*: measured on this machine. The same seed produces the same bytes, except for real files,
  which are marked `"repeatable":false`.
- Where alerts or the advice distinguish a bad side from a good one, a table shows which ones. That
  of old-ratio is tested through the shipped rules.
- Exit status 0: the experiments were run, whatever the result. 2: one could not be run.
"""


def document(results: list[Result]) -> str:
    """The whole page, with a final newline."""
    lines = [line for result in results for line in section(result)]
    return "\n".join([INTRODUCTION, *lines]).rstrip() + "\n"


def markdown() -> str:
    """The page of a run of all. Raises LabError, OSError."""
    with tempfile.TemporaryDirectory(prefix="esewatch-lab-") as folder:
        chosen = list(EXPERIMENTS.values())
        results = list(run_all(chosen, Path(folder), 1, lambda _: None))
    return document(results)
