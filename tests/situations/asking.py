"""What esewatch says when somebody asks it in a situation, with the logs in a folder `logs`."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from esewatch.cli import main
from tests.oracle.files import write_evtx
from tests.oracle.history import History
from tests.situations.engines import channels
from tests.support.in_process import Said, run

CONFIGURATION = "esewatch.yml"


@contextlib.contextmanager
def server_room(told: History) -> Iterator[None]:
    """Be in a folder with the logs of the situation, and its configuration where it has one."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for (computer, channel), records in channels(told).items():
            place = Path("logs", f"{computer.partition('.')[0].lower()} {channel}")
            place.mkdir(parents=True)
            write_evtx(place, records)
        if told.configuration:
            Path(CONFIGURATION).write_text(configuration(told), encoding="utf-8")
        yield


def configuration(told: History) -> str:
    """The configuration of a situation, YAML."""
    return yaml.safe_dump(dict(told.configuration), default_flow_style=None, sort_keys=False)


def command(told: History) -> tuple[str, ...]:
    """What is typed for advice."""
    configured = ("--config.file", CONFIGURATION) if told.configuration else ()
    return ("advise", *configured, "logs/")


def ask(*words: str) -> Said:
    """Run esewatch with these words."""
    return run(main, *words)
