"""A day of the daemon, on the clock of the logs that it reads, within minutes."""

from pathlib import Path

import psutil
import pytest

from esewatch.config import LogFiles, Settings
from esewatch.daemon.loop import Daemon
from esewatch.journal import Journal
from esewatch.sources.files import file_set
from esewatch.sources.registry import build_sources
from tests.e2e.harness import wait_for
from tests.reliability.server import TICK, Server
from tests.reliability.short_run import without_waiting
from tests.reliability.test_corruption import read_once, shown
from tests.reliability.test_kill import truth
from tests.support.figures import record as record_figure

TICKS = int(86400 / TICK)
MIB = 1 << 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_virtual_day_keeps_memory_files_and_figures(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=31)
    kinds = (("evtx", "evtx"), ("event_stream", "ndjson"), ("event_stream", "log"))
    settings = Settings(
        sources=[
            *(LogFiles(type=kind, name=end, paths=[f"{logs}/*.{end}"]) for kind, end in kinds),  # type: ignore[arg-type]
            LogFiles(type="perfmon_csv", name="csv", paths=[f"{logs}/*.csv"]),
        ]
    )
    path = tmp_path / "j.db"
    with without_waiting():
        daemon = Daemon(settings, Journal(path), build_sources(settings), clock=lambda: server.now)
        sizes, opened = [], []
        for number in range(TICKS):
            server.tick()
            read_once(daemon)
            daemon._expire()
            daemon.publisher.publish()
            if number % (TICKS // 24) == 0:
                sizes.append(psutil.Process().memory_info().rss)
                opened.append(psutil.Process().num_fds())
        server.finish()
        expected = truth(server)

        def right() -> bool:
            read_once(daemon)
            return {name: value for name, value in shown(daemon).items() if value} == expected

        wait_for("the true figures", right)
        counts = daemon._shared.internal_errors.counts
        daemon.close()
    assert counts == dict.fromkeys(counts, 0)
    grown = sizes[-1] - sizes[len(sizes) // 4]
    journal = sum(each.stat().st_size for each in tmp_path.glob("j.db*"))
    record_figure(
        "a virtual day of four logs that grow and rotate",
        f"{TICKS:,} readings, {len(list(logs.iterdir()))} files, {len(expected)} figures compared,"
        f" 0 wrong; memory {grown / MIB:+.0f} MB from hour 6 to 24, {max(opened)} descriptors at"
        f" most, journal of {journal / MIB:.1f} MB",
    )
    assert grown < 16 * MIB
    assert max(opened) < opened[0] + 3 * file_set.MAX_OPEN  # of the three sources of texts
    assert journal < 8 * MIB
