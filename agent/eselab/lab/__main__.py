"""`python -m eselab.lab`, or `esewatch lab`: the experiments.

Exit status: 0 the experiments were run, whatever came out; 2 one could not be run.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tqdm import tqdm

from esefiles.base.command_line import CommandParser, write_out
from eselab.base.command_line import done
from eselab.lab.agent import LabError
from eselab.lab.experiments import EXPERIMENTS, run_all
from eselab.lab.frame import Experiment, Result
from eselab.lab.output import listed, objects, text
from eselab.lab.picture import page

Shown = Callable[[Result], Iterator[str]]


def command_line() -> argparse.ArgumentParser:
    parser = CommandParser(prog="esewatch lab", epilog="example: esewatch lab run old-ratio")
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=CommandParser,
    )
    names = commands.add_parser(
        "list", help="the experiments", epilog="example: esewatch lab list --format json"
    )
    _add_format(names)
    names.set_defaults(function=print_names)
    run = commands.add_parser(
        "run",
        help="run experiments",
        description="Runs experiments, all where none is named. The same seed gives the same"
        " figures, but for those of real files. That a figure does not come out as published is no"
        " failure: the exit status is 0.",
        epilog="example: esewatch lab run checksum-parallel checkdb-luns -o lab.html",
    )
    run.add_argument("names", nargs="*", metavar="NAME", help="as `lab list` prints them")
    run.add_argument("--seed", type=int, default=1, metavar="S", help="random seed; default 1")
    run.add_argument(
        "--dir", type=Path, metavar="D",
        help="where to work, which is kept then; real files are on this file system;"
        " default a temporary folder",
    )  # fmt: skip
    run.add_argument("-o", "--output", metavar="F", help="write a page with pictures too")
    _add_format(run)
    run.set_defaults(function=run_experiments)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    return done(command_line(), words, "esewatch", (LabError, MemoryError))


def print_names(options: argparse.Namespace) -> int:
    """`lab list`."""
    if options.format == "text":
        lines = listed(list(EXPERIMENTS.values()))
    else:
        lines = (
            _json({"experiment": each.name, "question": each.question, "setup": each.setup})
            for each in EXPERIMENTS.values()
        )
    for line in lines:
        write_out(line + "\n")
    return 0


def run_experiments(options: argparse.Namespace) -> int:
    """`lab run`. Raises LabError, OSError."""
    chosen = _chosen(options.names)
    results = []
    with _folder(options.dir) as folder, _Progress(chosen) as progress:
        for result in run_all(chosen, folder, options.seed, progress.tell):
            results.append(result)
            lines = text(result) if options.format == "text" else map(_json, objects(result))
            progress.write("".join(line + "\n" for line in lines))
    if options.output:
        Path(options.output).write_text(page(results), encoding="utf-8")
        sys.stderr.write(f"esewatch: wrote {options.output}\n")
    return 0


class _Progress:
    """A bar on stderr where a person looks on."""

    def __init__(self, chosen: Sequence[Experiment]) -> None:
        self._bar = tqdm(
            total=sum(each.steps for each in chosen),
            unit="part",
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
            leave=False,
        )

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def tell(self, experiment: Experiment) -> None:
        """A part of it is done."""
        self._bar.set_description(experiment.name)
        self._bar.update()

    def write(self, lines: str) -> None:
        """To stdout, beside the bar. Raises OSError."""
        with tqdm.external_write_mode(file=sys.stdout):
            write_out(lines)


def _chosen(names: Sequence[str]) -> list[Experiment]:
    """Each once. Raises LabError."""
    for name in names:
        if name not in EXPERIMENTS:
            raise LabError(f"{name}: no experiment has this name: {', '.join(EXPERIMENTS)}")
    return [EXPERIMENTS[name] for name in dict.fromkeys(names or EXPERIMENTS)]


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="esewatch-lab-") as folder:
        yield Path(os.path.realpath(folder))


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", default="text", choices=("text", "json"))


def _json(value: dict[str, Any]) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


if __name__ == "__main__":
    sys.exit(main())
