"""Writes docs/lab.md from a run of all experiments: `python -m scripts.lab_page > docs/lab.md`."""

import sys
import tempfile
from pathlib import Path

from eselab.lab.experiments import EXPERIMENTS, run_all
from eselab.lab.frame import Result
from eselab.lab.output import markdown

INTRODUCTION = """\
# Lab

Written by `make lab`; do not edit.

Experiments put what comes out here beside the figures of the articles that esewatch is built on:

    esewatch lab list
    esewatch lab run
    esewatch lab run checksum-parallel checkdb-luns -o lab.html

`lab run` without names runs all. `--format json` prints one object for each figure, statement and
experiment; `-o` writes a page with pictures. `--seed` is of all chance, `--dir` the folder to work
in, which is kept then and must be empty for each experiment.

- *Published* is the article's figure, *ours* what came out. Machines of 2007 and ours differ, so
  ratios are compared: ours by the published one. Between 0.5 and 2 the shape is as published, if
  the same side is the larger one.
- Where it is not, that is a result, and the reason stands below the table.
- What is taken on real files is measured several times: the median stands there, and from the
  least to the most. *Not decided* is what these runs do not agree on, and what was measured where
  the cause that the article names was not at work.
- Each figure has a kind. *engine-counted*: counted by the [bundled engine](engine.md). *modelled
  disk*: taken on drives that are modelled by data sheets, one set for all experiments. *real
  files*: taken on this machine. The same seed gives the same bytes, but for real files, which
  are marked `"repeatable":false`.
- Where alerts or the advice tell a bad side from a good one, a table says by what. That of
  old-ratio is tested through the rules that are shipped.
- Exit status 0: the experiments were run, whatever came out. 2: one could not be run.
"""


def document(results: list[Result]) -> str:
    """The whole page, with a final newline."""
    lines = [line for result in results for line in markdown(result)]
    return "\n".join([INTRODUCTION, *lines]).rstrip() + "\n"


def main() -> None:
    """Run all, print the page. Raises LabError, OSError."""
    with tempfile.TemporaryDirectory(prefix="esewatch-lab-") as folder:
        chosen = list(EXPERIMENTS.values())
        results = list(run_all(chosen, Path(folder), 1, lambda _: None))
    sys.stdout.write(document(results))


if __name__ == "__main__":
    main()
