"""The demo is not for Windows, and says so there."""

import subprocess
import sys

ON_WINDOWS = """\
import esewatch.cli.demo.bundled, esewatch.expose.http.server, esewatch.sources.logs.event_stream
import sys
sys.platform = "win32"
sys.modules["termios"] = sys.modules["tty"] = None
from esewatch.cli.demo import command
from esewatch.model import EsewatchError
try:
    command.run(None)
except EsewatchError as error:
    print(error)
"""


def test_without_the_terminals_of_unix_it_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS], capture_output=True, text=True, check=False
    )
    assert "Windows" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
