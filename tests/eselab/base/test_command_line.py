"""What the engine, the demo and the lab say of words that they do not know and of their defects."""

import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE


def ended(*words: str) -> tuple[int, str]:
    """Exit status and standard error of a Python with these words."""
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "meant", "asked"),
    [
        ("demo --secnds 1", "--seconds", "demo"),
        ("engine chek", "check", "engine"),
        ("engine run --dir x --profle month", "--profile", "engine run"),
        ("lab lst", "list", "lab"),
    ],
)
def test_a_word_that_is_nearly_a_known_one_names_that(words: str, meant: str, asked: str) -> None:
    status, said = ended("-m", "esewatch", *words.split())
    assert status == 2
    assert said.endswith(f': did you mean "{meant}"? (see esewatch {asked} --help)\n')
    assert said.count("\n") == 1


@pytest.mark.parametrize("module", ["eselab", "eselab.demo", "eselab.lab"])
def test_an_unexpected_error_is_one_line_and_status_70(module: str) -> None:
    status, said = ended(
        "-c",
        f"""
import argparse, sys
import {module}.__main__ as program
parser = argparse.ArgumentParser()
parser.set_defaults(function=lambda _: {{}}["page"])
program.command_line = lambda: parser
sys.exit(program.main())
""",
    )
    assert (status, said.count("\n")) == (70, 1)
    assert said.startswith("esewatch: unexpected KeyError: 'page' (<string>, line 5)")
