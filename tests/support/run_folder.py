"""The folder of a test run, one for all its workers; each has a folder of its own in it."""

import os
from pathlib import Path

import pytest

RUN = "ESEWATCH_TEST_RUN"
"""The variable that has it; tests/conftest.py sets it."""


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """The one of this run."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
