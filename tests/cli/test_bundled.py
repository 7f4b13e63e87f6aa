"""The bundled programs, which take the place of `esewatch`."""

import argparse

import pytest

from esewatch.cli import bundled
from esewatch.model import EsewatchError


@pytest.mark.parametrize("command", ["demo", "engine"])
def test_the_engine_and_what_needs_it_are_not_for_windows(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(EsewatchError, match="does not run on Windows"):
        bundled.become(argparse.Namespace(command=command, words=[]))
