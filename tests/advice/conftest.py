"""Logs of the engine that several tests of advice cut and rewrite; made once."""

import pytest

from tests.advice.inputs import Case, made

SHARES = {
    "shrink": (3.0, 42),
    "keep": (0.75, 42),
    "grow": (0.25, 42),
    "insufficient_evidence": (1, 5),
}


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """By the right advice: logs of so many nights with so much of the right window."""
    folder = tmp_path_factory.mktemp("inputs")
    return {
        action: made(folder / action, action, share, nights)
        for action, (share, nights) in SHARES.items()
    }
