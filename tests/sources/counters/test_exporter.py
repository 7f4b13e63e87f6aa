"""The source over an exporter: pages into records, and a scrape that holds nobody up."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esewatch.config import DatabaseRule, Settings, default_settings
from esewatch.config.files import load
from esewatch.fold.folder import Folder
from esewatch.fold.instances.counters import volume_levels
from esewatch.fold.state.state import State
from esewatch.model import (
    Batch,
    ConfigError,
    CountersSeen,
    Reading,
    SourceError,
    Unreadable,
    VolumesSeen,
)
from esewatch.sources.counters import exporter as module
from esewatch.sources.counters.exporter import BATCH, ExporterSource
from esewatch.sources.counters.exporter_map import FORMATTED, PREFIX
from esewatch.sources.counters.poll_timer import PollTimer, SampleClock
from esewatch.sources.counters.scrape import Target
from esewatch.sources.registry import build_sources
from tests.support.metrics_server import MetricsServer, hangs, metrics_server, says
from tests.support.patience import PATIENCE
from tests.support.samples import sample

INSTANCES = f"{PREFIX}_msexchange_database_____instances"
READ = f"{INSTANCES}_online_defrag_pages_read_sec"
FREED = f"{INSTANCES}_online_defrag_pages_freed_sec"
SG06 = '{instance="Information Store/SG06"}'


class Bench:
    """A source over a server, with clocks by hand and the fold behind it."""

    def __init__(self, server: MetricsServer, seconds: float = 5.0, **more: Any) -> None:
        self.now = 1000.0
        self.server = server
        self.source = ExporterSource(
            "ex01",
            Target(server.url, seconds),
            interval=15.0,
            computer="ex01",
            pace=PollTimer(15.0, lambda: self.now),
            clock=SampleClock(lambda: self.now),
            **more,
        )
        self.folder = Folder(State(), default_settings())
        self.folder.open_source("ex01", 0.0)

    def scrape(self, page: str | bytes) -> list[Batch]:
        """Let the exporter say `page`, the interval pass, and take what one scrape gave."""
        self.server.answer(says(page))
        self.now += 15.0
        list(self.source.poll())
        return self.take()

    def take(self) -> list[Batch]:
        """What the scrape on its way gives. Raises SourceError when it fails."""
        self.ended()
        batches = list(self.source.poll())
        for batch in batches:
            self.folder.fold("ex01", batch)
        return batches

    def ended(self) -> None:
        """Wait for the end of the scrape on its way."""
        thread = self.source._thread
        assert thread is not None
        thread.join(PATIENCE)
        assert not thread.is_alive()

    def total(self, metric: str, instance: str = "sg06") -> float:
        return self.folder.state.instances["ex01", instance].totals[metric]


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with metrics_server() as running:
        yield running


@pytest.fixture
def bench(server: MetricsServer) -> Bench:
    return Bench(server)


def readings(batches: list[Batch]) -> list[Reading]:
    return [item for batch in batches for item in batch.records if isinstance(item, Reading)]


def faults(batches: list[Batch]) -> list[Unreadable]:
    return [item for batch in batches for item in batch.unreadable]


def count(metric: str, value: float, labels: str = SG06, kind: str = "counter") -> str:
    return f"# TYPE {metric} {kind}\n{metric}{labels} {value:.17g}\n"


def test_the_count_behind_a_rate_grows_with_the_exporter(bench: Bench) -> None:
    bench.scrape(count(READ, 5000) + count(FREED, 100))
    bench.scrape(count(READ, 6000) + count(FREED, 110))

    assert bench.total("ese_defrag_pages_read_total") == 1000
    assert bench.total("ese_defrag_pages_freed_total") == 10


def test_a_count_that_wraps_at_32_bits_is_unwrapped(bench: Bench) -> None:
    bench.scrape(count(READ, 2**32 - 100))
    bench.scrape(count(READ, 900))

    assert bench.total("ese_defrag_pages_read_total") == 1000


def test_a_restart_of_the_process_counts_from_zero(bench: Bench) -> None:
    bench.scrape(count(READ, 5000))
    bench.scrape(count(READ, 700))

    assert bench.total("ese_defrag_pages_read_total") == 700


def test_what_stays_0_after_a_restart_of_the_store_is_sampled(bench: Bench) -> None:
    bench.scrape(count(READ, 5000) + count(FREED, 100))
    bench.scrape(count(READ, 40) + count(FREED, 0))
    found = readings(bench.scrape(count(READ, 60) + count(FREED, 0)))

    assert [each.value for each in found] == [60, 0]
    bench.scrape(count(READ, 80) + count(FREED, 7))
    assert bench.total("ese_defrag_pages_freed_total") == 7


def test_a_missing_value_right_after_a_restart_of_the_store_counts_nothing(bench: Bench) -> None:
    bench.scrape(count(READ, 5000) + count(FREED, 100))
    bench.scrape(count(READ, 400) + count(FREED, 20))
    bench.scrape(count(READ, 410) + count(FREED, 0))
    bench.scrape(count(READ, 420) + count(FREED, 40))

    assert bench.total("ese_defrag_pages_freed_total") == 40
    assert bench.total("ese_defrag_pages_read_total") == 420


def test_a_wrap_is_no_restart_of_the_store(bench: Bench) -> None:
    bench.scrape(count(READ, 2**32 - 10) + count(FREED, 3000))
    bench.scrape(count(READ, 10) + count(FREED, 0))
    bench.scrape(count(READ, 20) + count(FREED, 3010))

    assert bench.total("ese_defrag_pages_freed_total") == 10


def test_a_restart_of_the_store_while_the_agent_is_down_is_seen(server: MetricsServer) -> None:
    before = Bench(server)
    batches = before.scrape(count(READ, 1000) + count(FREED, 30))
    saved = {key: value for each in batches for key, value in each.positions.items() if value}
    after = Bench(server)
    after.now, after.folder = before.now, before.folder
    after.source.restore(saved)
    after.scrape(count(READ, 40) + count(FREED, 0))

    assert [each.value for each in readings(after.scrape(count(READ, 50) + count(FREED, 0)))] == [
        50, 0,
    ]  # fmt: skip


def test_growth_while_nobody_scraped_is_kept(bench: Bench) -> None:
    bench.scrape(count(READ, 5000))
    bench.now += 2 * 86400.0
    bench.scrape(count(READ, 905_000))

    assert bench.total("ese_defrag_pages_read_total") == 900_000


def test_a_zero_that_the_exporter_puts_for_a_missing_value_counts_nothing(bench: Bench) -> None:
    bench.scrape(count(READ, 5000))
    assert readings(bench.scrape(count(READ, 0))) == []
    bench.scrape(count(READ, 5010))

    assert bench.total("ese_defrag_pages_read_total") == 10


def test_a_zero_for_a_missing_value_right_after_a_restart_counts_nothing(
    server: MetricsServer,
) -> None:
    before = Bench(server)
    batches = before.scrape(count(READ, 1000)) + before.scrape(count(READ, 1020))
    saved = {key: value for each in batches for key, value in each.positions.items() if value}
    after = Bench(server)
    after.now, after.folder = before.now, before.folder
    after.source.restore(saved)

    assert readings(after.scrape(count(READ, 0))) == []
    after.scrape(count(READ, 1050))

    assert after.total("ese_defrag_pages_read_total") == 50


@pytest.mark.parametrize("saved", [b"", b"\xff", b"\x91\x01", b"\x91\x92\x01\x02"])
def test_a_saved_position_that_cannot_be_read_means_a_fresh_start(
    bench: Bench, saved: bytes
) -> None:
    bench.source.restore({"counted": saved})
    bench.scrape(count(READ, 0))
    bench.scrape(count(READ, 30))

    assert bench.total("ese_defrag_pages_read_total") == 30


def test_the_series_are_saved_once_and_their_values_each_hour(server: MetricsServer) -> None:
    now = [0.0]
    bench = Bench(server, monotonic=lambda: now[0])
    (first,) = bench.scrape(count(READ, 1000))
    (second,) = bench.scrape(count(READ, 1020))

    assert "counted" in first.positions
    assert "counted" not in second.positions
    now[0] = 3600.0
    (third,) = bench.scrape(count(READ, 1020))
    assert "counted" in third.positions


def test_a_count_that_begins_at_zero_is_born_there(bench: Bench) -> None:
    bench.scrape(count(READ, 0))
    bench.scrape(count(READ, 30))

    assert bench.total("ese_defrag_pages_read_total") == 30


def test_a_gauge_in_the_place_of_a_count_may_be_a_rate_and_is_not_read(bench: Bench) -> None:
    batches = bench.scrape(count(READ, 812.4, kind="gauge") + count(FREED, 5))

    assert [item.counter for item in readings(batches)] == ["Online Defrag Pages Freed/sec"]
    (fault,) = faults(batches)
    assert fault.path == bench.server.url
    assert fault.place == READ
    assert "set `type: counter`" in fault.reason
    assert faults(bench.scrape(count(READ, 812.4, kind="gauge"))) == []


def test_levels_come_out_in_base_units(bench: Bench) -> None:
    latency = f"{FORMATTED}_msexchange_database_____instances_i_o_log_writes_average_latency"
    cache = f"{PREFIX}_msexchange_database_database_cache_size_mb"
    target = (
        f"{FORMATTED}_msexchange_database_____instances_log_checkpoint_depth_as_a_percent_of_target"
    )
    bench.scrape(
        count(latency, 12.5, kind="gauge")
        + count(cache, 512, '{instance="edgetransport"}', kind="gauge")
        + count(target, 150, kind="gauge")
    )

    levels = bench.folder.state.instances["ex01", "sg06"].levels
    assert sorted(level.value for level in levels.values()) == pytest.approx([0.0125, 1.5])
    (size,) = bench.folder.state.hosts["ex01"].levels.values()
    assert size.value == 512 * 2**20


def test_two_disks_are_two_devices(bench: Bench) -> None:
    def page(first: float, second: float) -> str:
        return "".join(
            f"# TYPE windows_physical_disk_{name} counter\n"
            f'windows_physical_disk_{name}{{disk="0"}} {first}\n'
            f'windows_physical_disk_{name}{{disk="1"}} {second}\n'
            for name in ("read_seconds_total", "write_bytes_total", "reads_total")
        )

    bench.scrape(page(100.5, 2**32 - 10))
    bench.scrape(page(101.0, 2**32 + 90))

    devices = bench.folder.state.devices
    assert {key: device.totals for key, device in devices.items()} == {
        ("ex01", "0"): {
            "ese_device_read_seconds_total": 0.5,
            "ese_device_write_bytes_total": 0.5,
            "ese_device_reads_total": 0.5,
        },
        ("ex01", "1"): {
            "ese_device_read_seconds_total": 100,
            "ese_device_write_bytes_total": 100,
            "ese_device_reads_total": 100,
        },
    }


def test_volumes_lie_on_the_one_disk_that_is_told(bench: Bench) -> None:
    def info(disk: str, volume: str) -> str:
        return f'windows_logical_disk_info{{disk="{disk}",volume="{volume}",type="fixed"}} 1\n'

    page = (
        info("0", "C:")
        + info("1", r"E:\\MDB06")
        + info("1;2", "F:")
        + info("", "G:")
        + info("0", "HarddiskVolume1")
    )
    batches = bench.scrape(page)

    (seen,) = [item for item in batches[0].records if isinstance(item, VolumesSeen)]
    assert seen.devices == {"c:": "0", r"e:\mdb06": "1"}
    assert bench.scrape(page)[0].records == []
    (changed,) = bench.scrape(info("3", "C:"))[0].records
    assert isinstance(changed, VolumesSeen)
    assert changed.devices == {"c:": "3"}


def test_counters_that_are_hidden_are_told_once(bench: Bench) -> None:
    stalls = f"{INSTANCES}_log_record_stalls_sec"

    def told(page: str) -> list[dict[str, bool]]:
        batches = bench.scrape(page)
        return [item.present for item in batches[0].records if isinstance(item, CountersSeen)]

    hidden = {"Online Defrag": False, "Database Maintenance": False}
    assert told("other 1\n") == []
    assert told(count(stalls, 1)) == [hidden]
    assert told(count(stalls, 1)) == []
    assert told(count(stalls, 1) + count(READ, 1) + count(FREED, 1)) == [
        {**hidden, "Online Defrag": True}
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{READ}{SG06} NaN", "is not a number"),
        (f"{READ}{SG06} +Inf", "is not a number"),
        (f"{READ}{SG06} -5", "a running count is below 0"),
        (f"{READ}{SG06} 5 99999999999999", "its time is in the future or is not valid"),
        (f"{READ}{SG06} 5 NaN", "its time is in the future or is not valid"),
        (f'{READ}{{instance="Store/SG06}} 5', "no sample in the Prometheus format"),
    ],
)
def test_a_sample_without_sense_is_told_and_the_rest_goes_on(
    bench: Bench, line: str, reason: str
) -> None:
    batches = bench.scrape(f"# TYPE {READ} counter\n{line}\n{count(FREED, 3)}")

    assert [item.value for item in readings(batches)] == [3]
    assert [item.reason for item in faults(batches)] == [reason]


def test_the_same_fault_is_told_once_and_many_are_limited(bench: Bench) -> None:
    page = "".join(f"bad line {number}{{\n" for number in range(100)) + count(READ, 1)

    told = [len(faults(bench.scrape(page))) for _ in range(7)]

    assert told == [20, 20, 20, 20, 20, 0, 0]


def test_a_time_in_the_page_is_the_time_of_the_sample(bench: Bench) -> None:
    line = (
        f"# TYPE {READ} counter\n{READ}{SG06} 5 1000000\n{FREED}{SG06} 5\n# TYPE {FREED} counter\n"
    )
    batches = bench.scrape(line + count(FREED, 6))

    assert [(item.value, item.time) for item in readings(batches)] == [(5, 1000.0), (6, 1015.0)]


def test_very_many_counters_come_in_batches_and_end_at_a_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_READINGS", 2 * BATCH + 1)
    lines = "".join(f'{READ}{{instance="p/i{number}"}} 1\n' for number in range(3 * BATCH))

    batches = bench.scrape(f"# TYPE {READ} counter\n{lines}")

    assert len(readings(batches)) == 2 * BATCH + 1
    assert all(len(batch.records) <= BATCH for batch in batches)
    assert [batch.caught_up for batch in batches] == [False, False, True]
    assert [item.reason for item in faults(batches)] == [
        f"more than {2 * BATCH + 1} counters, the rest is not read"
    ]


def test_a_name_that_is_far_too_long_is_nobody_s(bench: Bench) -> None:
    assert readings(bench.scrape(count(READ, 1, f'{{instance="p/{"x" * 300}"}}'))) == []


def test_before_the_first_scrape_has_ended_the_source_is_not_caught_up(bench: Bench) -> None:
    bench.server.answer(says(count(READ, 1)))

    (first,) = bench.source.poll()
    (second,) = bench.take()

    assert (first.records, first.caught_up) == ([], False)
    assert second.caught_up
    assert len(second.records) == 2
    (third,) = bench.source.poll()
    assert (third.records, third.caught_up) == ([], True)


def test_an_exporter_is_scraped_once_an_interval(bench: Bench) -> None:
    bench.scrape(count(READ, 1))
    for _ in range(10):
        list(bench.source.poll())

    assert len(bench.server.requests()) == 1
    bench.now += 15.0
    list(bench.source.poll())
    bench.ended()
    assert len(bench.server.requests()) == 2


def test_a_failure_stays_until_a_scrape_succeeds(bench: Bench) -> None:
    bench.scrape(count(READ, 10))
    bench.server.answer(says("", 500))
    bench.now += 15.0
    list(bench.source.poll())

    for _ in range(3):
        with pytest.raises(SourceError, match=r"^http://127.*: answered 500 Internal"):
            bench.take()

    assert len(bench.server.requests()) >= 4, "a failed scrape is repeated without a pause"
    bench.ended()
    bench.server.answer(says(count(READ, 25)))
    with pytest.raises(SourceError, match="answered 500"):
        bench.take()
    assert bench.take()[0].caught_up
    assert bench.total("ese_defrag_pages_read_total") == 15


@pytest.mark.parametrize("page", ["<html>\n<p>Login</p>\n</html>\n", b"\x00\xff\xfe\n" * 50, "x"])
def test_a_page_of_something_else_is_one_line(bench: Bench, page: str | bytes) -> None:
    with pytest.raises(SourceError, match="not in the Prometheus text format"):
        bench.scrape(page)


def test_an_empty_page_is_no_failure(bench: Bench) -> None:
    (batch,) = bench.scrape("")

    assert (batch.records, batch.unreadable, batch.caught_up) == ([], [], True)


def test_a_poll_does_not_wait_for_a_server_that_hangs(server: MetricsServer) -> None:
    bench = Bench(server, 60.0, monotonic=lambda: 0.0)
    server.answer(hangs)

    for _ in range(50):
        list(bench.source.poll())

    # The first one is still under way: none has waited for its end.
    assert bench.source._thread is not None
    assert bench.source._thread.is_alive()
    assert len(server.requests()) <= 1


def test_a_scrape_that_does_not_end_at_all_is_reported(server: MetricsServer) -> None:
    now = [0.0]
    bench = Bench(server, monotonic=lambda: now[0])
    server.answer(hangs)
    list(bench.source.poll())

    now[0] = 11.0

    with pytest.raises(SourceError, match="no answer, not even from the name service"):
        list(bench.source.poll())


def test_a_defect_in_a_scrape_is_one_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(target: Target) -> None:
        raise KeyError("x")

    monkeypatch.setattr(module, "scrape", breaks)
    with pytest.raises(SourceError, match="unexpected KeyError"):
        bench.scrape("")


def test_times_go_on_behind_the_last_sample_of_the_journal(server: MetricsServer) -> None:
    before = Bench(server)
    before.now = 9000.0
    (batch,) = before.scrape(count(READ, 1))
    after = Bench(server)
    after.source.restore({key: value for key, value in batch.positions.items() if value})

    (again,) = after.scrape(count(READ, 2))

    assert readings([again])[0].time > readings([batch])[0].time > 9000.0


def test_a_real_exporter_without_counters_of_ese_gives_free_space_alone_and_no_fault(
    bench: Bench,
) -> None:
    text = gzip.decompress(sample("perf/windows_exporter-v0.20.0-metrics.txt.gz").read_bytes())

    (batch,) = bench.scrape(text)

    assert {item.feed and item.feed.labels: item.value for item in readings([batch])} == {
        ("c:",): 43636490240.0
    }
    assert (len(batch.records), batch.unreadable) == (1, [])


def test_a_real_exporter_is_read_through_a_map_of_one_s_own(server: MetricsServer) -> None:
    text = gzip.decompress(sample("perf/windows_exporter-v0.20.0-metrics.txt.gz").read_bytes())
    entry = {"windows_logical_disk_reads_total": r"PhysicalDisk\Disk Reads/sec"}
    bench = Bench(server, entries=entry)

    # Its volumes have a label of their own: a device needs `disk` or `instance`.
    assert [item.feed.owner for item in readings(bench.scrape(text)) if item.feed] == ["computer"]
    found = readings(bench.scrape(text.replace(b'{volume="', b'{disk="')))

    assert {item.feed and item.feed.name: item.value for item in found} == {
        "C:": 350593.0,
        "HarddiskVolume4": 6.0,
    }


def configured(folder: Path, text: str) -> list[Any]:
    file = folder / "esewatch.yml"
    file.write_text(text, encoding="utf-8")
    return list(build_sources(load(file)))


def test_the_configuration_takes_all_keys_of_an_exporter_and_of_disks(tmp_path: Path) -> None:
    exporter, named, disks = configured(
        tmp_path,
        r"""
        sources:
          - type: prometheus
            url: https://EX01.corp.example:9182/metrics
            interval: 30s
            basic_auth: {username: esewatch, password_file: /etc/esewatch/password}
            ca_file: /etc/esewatch/ca.pem
            map: {my_reads: 'MSExchange Database ==> Instances\Online Defrag Pages Read/sec'}
          - {type: prometheus, name: second, computer: EX02, url: "http://ex02/", interval: 2s}
          - {type: disks, interval: 5s}
        """,
    )

    assert [source.name for source in (exporter, named, disks)] == [
        "prometheus-1",
        "second",
        "disks-1",
    ]
    assert exporter._target == Target(
        "https://EX01.corp.example:9182/metrics",
        10.0,
        "esewatch",
        "/etc/esewatch/password",
        "/etc/esewatch/ca.pem",
    )
    assert named._target.timeout == 2.0
    assert [exporter._computer, named._computer] == ["ex01.corp.example", "EX02"]


@pytest.mark.parametrize(
    "url",
    [
        "ex01:9182/metrics",
        "ftp://ex01/metrics",
        "http://",
        "http://user:secret@ex01:9182/metrics",
        "http://ex01:99999/metrics",
        "http://ex01:9182/met rics",
        "http://[::1/metrics",
        "file:///etc/passwd",
    ],
)
def test_another_address_is_refused_by_the_configuration(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"url: found .*, allowed: an address such as"):
        configured(tmp_path, f'sources:\n  - {{type: prometheus, url: "{url}"}}\n')


def test_free_space_comes_with_the_scrape_and_is_kept_for_logs_alone(bench: Bench) -> None:
    rule = DatabaseRule(match="*", log_path="L:\\SG06")
    bench.folder.reconfigure(Settings(databases=[rule]))

    bench.scrape(
        "# TYPE windows_logical_disk_free_bytes gauge\n"
        'windows_logical_disk_free_bytes{volume="L:"} 1.5e+09\n'
        'windows_logical_disk_free_bytes{volume="C:"} 7\n'
        'windows_logical_disk_free_bytes{volume="HarddiskVolume1"} 8\n'
    )

    levels = volume_levels(bench.folder.state.hosts["ex01"])
    assert {name: level.value for name, level in levels.items()} == {"l:": 1.5e9}


def test_a_total_stands_for_the_one_database_of_its_process_unless_it_is_sampled(
    bench: Bench,
) -> None:
    total, own = (f'{{instance="Information Store - DB01/{name}"}}' for name in ("_Total", "DB01"))
    found = readings(bench.scrape(count(READ, 5000, total)))
    assert [each.feed.name for each in found if each.feed] == ["DB01"]
    found = readings(bench.scrape(count(READ, 6000, total) + count(FREED, 10, own)))
    assert [each.instance for each in found] == ["Information Store - DB01/DB01"]
