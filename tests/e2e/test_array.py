"""One broken array under ten databases, and an agent that dies after it: what people receive.

Real servers, and an hour that lasts HOUR seconds. What waits for others in Alertmanager does so for
GROUP_SECONDS.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.harness import (
    Agent,
    discover,
    start_agent,
    start_alertmanager,
    start_prometheus,
    start_webhook,
    wait_for,
)
from tests.e2e.logs import utc_now
from tests.rules.quality.backfill import load
from tests.rules.quality.trial import DATABASES, EITHER, TOLD
from tests.support.evtx_writer import EvtxWriter
from tests.support.ports import free_address

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(900)]

HOUR = 6.0
FASTER = 3600 / HOUR
DAY = 24 * HOUR
WEEK = 7 * DAY
SHORTER = {
    # Four scrapes are the least that a rate is seen in: these spans are longer than an hour is.
    **{f"[{span}]": "[4s]" for span in ("5m", "10m", "15m", "30m")},
    "[1h]": f"[{HOUR:.0f}s]",
    # Long enough for the rule of tiers, which is evaluated each second.
    "[55m] offset 5m": "[2s] offset 4s",
    "offset 1h": f"offset {HOUR:.0f}s",
    "offset 1d": f"offset {DAY:.0f}s",
    "offset 7d": f"offset {WEEK:.0f}s",
    "[7d:1h]": f"[{WEEK:.0f}s:{HOUR:.0f}s]",
}
EDB, LOG = r"E:\MDB{}\priv{}.edb", r"E:\MDB{}\E{}.log"
FAILED = ("-1022", "1117", "The request could not be performed", "60.015")


class MailServer:
    """A database in each of its instances, all of them on one array."""

    def __init__(self, log: Path) -> None:
        self.log = EvtxWriter(log)

    def _write(
        self, event_id: int, *strings: str, level: int = 4, at: datetime | None = None
    ) -> None:
        """One event of each database; `{}` in a string is its number."""
        for number in (f"{number:02}" for number in range(1, DATABASES + 1)):
            words = ("MSExchangeIS", "4104", f"SG{number}: ", *strings)
            self.log.write(
                event_id,
                [word.replace("{}", number) for word in words],
                time=at or utc_now(),
                level=level,
            )

    def completes_passes(self, end: datetime) -> None:
        """Online defragmentation of five days."""
        begin = end - timedelta(days=4)
        figures = ("42794", f"{begin:%-m/%-d/%Y}", "124919", "7", "4", "14", "73")
        self._write(703, EDB, *figures, at=end)
        self.log.flush()

    def begins_passes(self, begin: datetime) -> None:
        self._write(700, EDB, at=begin)
        self.log.flush()

    def loses_its_array(self) -> None:
        """Requests hang, are slow and fail; passes fail, logs are halted, instances stop."""
        for offset in ("8192", "16384", "24576"):
            self._write(533, LOG, offset, "8192", "60", level=3)
            self._write(508, LOG, offset, "8192", "61", level=3)
            self._write(482, LOG, offset, "8192", *FAILED, level=2)
        self._write(481, EDB, "8192", "8192", *FAILED, level=2)
        self._write(705, EDB, "-1022", level=3)
        self._write(492, "E:\\MDB{}\\", level=2)
        self._write(104, "0", "-510", "", level=2)
        self.log.flush()

    def comes_up(self) -> None:
        self._write(105, "0", "1")
        self.log.flush()


class Trial:
    """The servers, and a clock of hours since the array died."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.server = MailServer(folder / "app.evtx")
        stack.callback(self.server.log.close)
        self.server.completes_passes(utc_now() - timedelta(days=1))
        self.server.begins_passes(utc_now() - timedelta(minutes=5))
        self.webhook = stack.enter_context(start_webhook())
        alertmanager = stack.enter_context(
            start_alertmanager(folder / "alertmanager", self.webhook)
        )
        settings = {
            "sources": [{"type": "evtx", "path": str(folder / "app.evtx")}],
            "policy": {"backup_within": "never"},
        }
        self.agent: Agent = stack.enter_context(start_agent(folder / "agent", settings))
        self.folder = folder / "prometheus"
        self._was_there_before()
        self.prometheus = stack.enter_context(
            start_prometheus(self.folder, [self.agent.address], alertmanager, FASTER, SHORTER)
        )
        self.prometheus.wait_for_value("count(ese_database_info)", DATABASES)
        self.prometheus.wait_for_evaluations(int(HOUR))
        self.began = time.monotonic()

    def _was_there_before(self) -> None:
        """The agent reported this computer for more than a week."""
        labels = f'{{computer="ex01",instance="{self.agent.address}",job="esewatch"}}'
        now = int(time.time())
        lines = ["# TYPE esewatch_host_caught_up gauge"]
        for at in range(now - int(WEEK + DAY), now, 10):
            lines.append(f"esewatch_host_caught_up{labels} 1 {at}")
        self.folder.mkdir()
        text = self.folder / "past.om"
        text.write_text("\n".join([*lines, "# EOF", ""]))
        load(text, self.folder / "data")

    def reaches(self, hour: float) -> None:
        """The clock shows this hour."""
        end = self.began + hour * HOUR
        wait_for(f"hour {hour:g}", lambda: time.monotonic() >= end, hour * HOUR + 60)

    def moves_the_agent(self) -> None:
        """To another host, with its journal; Prometheus finds it there."""
        self.agent.address = free_address()
        self.agent.url = f"http://{self.agent.address}"
        self.agent.start()
        discover(self.folder, [self.agent.address])
        self.prometheus.wait_for_value(f'up{{instance="{self.agent.address}"}}', 1)

    def told(self) -> list[tuple[str, str, str, int, int]]:
        """(receiver, status, alert, its number, number of the message that it came in), in order.

        What was over before anybody was told of it, since another alert inhibited it, is left out.
        """
        found: dict[tuple[str, str, str], list[int]] = {}
        for alert in self.webhook.alerts():
            name = alert["labels"]["alertname"]
            key = (alert["path"].removeprefix("/"), alert["status"], name)
            if name != "Watchdog" and (key[1] == "firing" or (key[0], "firing", name) in found):
                found.setdefault(key, []).append(alert["message"])
        return [(*key, messages.count(messages[0]), messages[0]) for key, messages in found.items()]

    def waits_to_tell(self, rows: int) -> None:
        """All alerts of the first rows of `TOLD`, and no others, have been sent."""
        expected = {
            (row.receiver, row.status, name, count)
            for row in TOLD[:rows]
            for name, count in row.alerts.items()
        }
        wait_for(f"row {rows}", lambda: {each[:4] for each in self.told()} >= expected)
        self.prometheus.wait_for_evaluations(3)
        told = {each[:4] for each in self.told()}
        assert told - {either for either, other in EITHER.items() if other in told} == expected

    def messages(self, receiver: str) -> set[str]:
        """What joins the messages of a receiver into one thing to do, of all that fired."""
        return {
            alert["group"]
            for alert in self.webhook.alerts(status="firing")
            if alert["path"] == f"/{receiver}"
        }


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with ExitStack() as stack:
        yield Trial(tmp_path, stack)


def test_a_broken_array_is_one_page_and_nothing_is_resolved_falsely(trial: Trial) -> None:
    assert trial.told() == []

    trial.server.loses_its_array()
    trial.waits_to_tell(1)
    trial.reaches(1)
    trial.agent.kill()
    trial.waits_to_tell(3)
    trial.reaches(25)
    trial.waits_to_tell(3)

    trial.moves_the_agent()
    trial.waits_to_tell(5)
    trial.reaches(28)
    trial.waits_to_tell(5)

    trial.server.comes_up()
    trial.waits_to_tell(7)
    trial.server.completes_passes(utc_now())
    trial.waits_to_tell(8)

    assert trial.prometheus.firing() == []
    assert trial.prometheus.rule_errors() == []
    assert len({each[4] for each in trial.told()[:3]}) == 1, "the array is told of at once"
    assert len(trial.messages("page")) == 2, "the array, and the agent"
    assert len(trial.messages("ticket")) == 2, "the agent, and passes that failed"
