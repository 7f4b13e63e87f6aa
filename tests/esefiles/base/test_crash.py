"""Without memory, or a thread, a process ends at once: one line, exit status 70."""

import subprocess
import sys
from pathlib import Path

import pytest

from esefiles.base import crash
from tests.support.crashes import Crashed, crashing
from tests.support.patience import PATIENCE

BEGIN = """\
import sys
import threading
import time

from esefiles.base import crash

crash.WATCH_SECONDS = 0.2
crash.install()
"""
HANG = f"\ntime.sleep({2 * PATIENCE})\n"
SHORT = f"{crash.SHORT}\n"


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + code],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        "raise MemoryError",
        "def work(): raise MemoryError\nthreading.Thread(target=work).start()" + HANG,
        "class Odd:\n def __del__(self): raise MemoryError\nOdd()" + HANG,
        'raise RuntimeError("can\'t start new thread")',
        "try: raise MemoryError\nexcept Exception as error: crash.if_short(error)",
    ],
)
def test_the_want_of_memory_or_a_thread_is_one_line_and_status_70(code: str) -> None:
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (70, "", SHORT)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems set no such limit")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param(
            8,
            "def work():\n"
            "    found = []\n"
            "    while True: found.append(bytearray(1 << 20))\n"
            "threading.Thread(target=work).start()",
            id="memory",
        ),
        pytest.param(
            40,  # MiB: each thread takes a stack of the address space
            "threading.stack_size(16 << 20)\n"
            "for _ in range(9):"
            " threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            id="threads",
        ),
    ],
)
def test_a_real_limit_is_one_line_and_status_70(more: int, code: str) -> None:
    done = ended(
        "import resource\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (size + ({more} << 20),) * 2)\n{code}{HANG}"
    )
    assert (done.returncode, done.stdout, done.stderr) == (70, "", SHORT)


def test_a_thread_that_never_begins_ends_the_process() -> None:
    """Whoever starts it would never get on."""
    done = ended(
        "def never(*given, **words): return 0\n"
        "name = '_start_joinable_thread'\n"
        "setattr(threading, name if hasattr(threading, name) else '_start_new_thread', never)\n"
        "threading.Thread(target=print, args=('begun',)).start()" + HANG
    )
    assert (done.returncode, done.stdout, done.stderr) == (70, "", SHORT)


def test_a_defect_of_a_thread_is_one_line_with_its_place() -> None:
    done = ended("def work(): int('a\\nb')\nthreading.Thread(target=work).start()" + HANG)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 70
    assert line.startswith("esewatch: unexpected ValueError: invalid literal for int()")
    assert "(<string>, line 9)" in line


def test_an_end_that_hangs_takes_a_minute_at_most() -> None:
    done = ended("crash.ENDING_SECONDS = 0.5\ncrash.ending()" + HANG)
    assert done.returncode == 70
    assert done.stderr == (
        "esewatch: its end took more than a minute, so it ends at once (exit status 70)\n"
    )


def test_a_command_without_memory_ends_so_too(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from esewatch import cli\n"
        "from esefiles.commands import check as command\n"
        "def no_memory(*_): raise MemoryError\n"
        "command.check_copies = no_memory\n"
        f"sys.argv = ['esewatch', 'check', {str(tmp_path)!r}]\n"
        "sys.exit(cli.main())\n"
    )
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (70, "", SHORT)


@pytest.mark.parametrize("error", [None, ValueError(), RuntimeError("odd"), OSError(12, "x")])
def test_other_errors_end_nothing(error: Exception | None) -> None:
    with crashing() as ends:
        crash.if_short(error)
    assert ends == []


def test_who_else_is_told_gets_the_line_and_cannot_keep_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        raise OSError

    monkeypatch.setattr(crash, "_also", None)
    crash.tell_too(tell)
    with crashing() as ends, pytest.raises(Crashed):
        crash.end("esewatch: odd")
    assert (ends, told) == ([70], ["esewatch: odd"])
