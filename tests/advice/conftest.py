"""Logs of the engine that several tests of advice cut and rewrite; made once."""

from functools import partial

import pytest

from tests.advice.inputs import Case, read_run, run
from tests.support.made_once import made_once

SHARES = {
    "shrink": (3.0, 42),
    "keep": (0.75, 42),
    "grow": (0.25, 42),
    "insufficient_evidence": (1, 5),
}


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """By the right advice: logs of so many nights with so much of the right window."""
    found = {}
    for action, (share, nights) in SHARES.items():
        make = partial(run, share=share, nights=nights)
        folder = made_once(tmp_path_factory, f"inputs-{action}", make)
        found[action] = read_run(folder, action, nights)
    return found
