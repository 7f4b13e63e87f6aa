"""Logs and exporters that are made to do harm, under a real agent: what they cost is bounded."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.e2e.harness import Agent, get, wait_for
from tests.e2e.test_exporter import INSTANCE, page, wait_for_value
from tests.reliability.test_floods import line
from tests.reliability.test_inputs import append, events, total
from tests.reliability.test_kill import samples
from tests.support.ese_text import render
from tests.support.figures import record as record_figure
from tests.support.figures import until_right_again
from tests.support.metrics_server import Answer, Handler, drips, metrics_server, says
from tests.support.resident import resident

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(2400)]

MIB = 1 << 20
MILLION = 1_000_000
FILES = 30_000


class Attacked:
    """An agent under attack, and what that costs it."""

    def __init__(self, agent: Agent, logs: Path) -> None:
        self.agent = agent
        self.logs = logs
        self._process = psutil.Process(agent.pid)
        get(f"{agent.url}/metrics")
        self._before = resident(agent.pid)
        self._spent = self._cpu()

    def _cpu(self) -> float:
        return sum(self._process.cpu_times()[:2])

    def hostile(self, name: str) -> float:
        """A figure of the hostile source."""
        return total(samples(self.agent), f"esewatch_source_{name}", source="hostile")

    def check_others(self) -> None:
        """The other source goes on meanwhile."""
        append(self.logs / "real.ndjson", 100, hour=1)
        wait_for("the real ones", lambda: events(self.agent, computer="ex02") == 200)

    def cost(self, what: str, more: str = "") -> int:
        """Bytes of memory at most, noted as a figure."""
        most = resident(self.agent.pid, "VmHWM") - self._before
        size = len(get(f"{self.agent.url}/metrics")) / 1e6
        journal = sum(each.stat().st_size for each in self.agent.folder.glob("journal.db*")) / 1e6
        record_figure(
            what,
            f"memory {most / MIB:+.0f} MB at most, {self._cpu() - self._spent:.0f} CPU-s,"
            f" {size:.1f} MB of metrics, journal of {journal:.1f} MB{more};"
            " the other source lost nothing",
        )
        assert size < 8
        assert journal < 50
        return most


@contextmanager
def attacked(folder: Path, source: Mapping[str, object]) -> Iterator[Attacked]:
    """An agent that reads a hostile source beside a real one; it ends well."""
    logs = folder / "logs"
    logs.mkdir()
    append(logs / "real.ndjson", 100)
    real = {"type": "event_stream", "name": "real", "path": f"{logs}/real.ndjson"}
    agent = Agent(folder / "agent", {"sources": [{**source, "name": "hostile"}, real]})
    try:
        agent.start()
        yield Attacked(agent, logs)
        assert "Traceback" not in agent.log()
        agent.stop()
    finally:
        agent.close()


def zeros(mib: int) -> bytes:
    """So many MiB of zeros, compressed to a thousandth."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    parts = [packer.compress(bytes(MIB)) for _ in range(mib)]
    return b"".join((*parts, packer.flush()))


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda packed: packed + gzip.compress(b"\nno more zeros\n"),
    ", of zeros alone": lambda packed: packed,
    ", compressed twice": gzip.compress,
}


@pytest.mark.fault(
    "a log is a gzip bomb",
    provoked="1 GB of zeros in 1 MB of gzip, also compressed twice",
    lost="that file; it is reported and counted as unreadable",
    again="never wrong",
)
@pytest.mark.parametrize("form", BOMBS)
@pytest.mark.parametrize("kind", ["event_stream", "perfmon_csv"])
def test_a_bomb_of_1_gb_in_1_mb_costs_less_than_40_mb(tmp_path: Path, kind: str, form: str) -> None:
    bomb = BOMBS[form](zeros(1024))
    source = {"type": kind, "path": f"{tmp_path}/logs/*.gz"}
    with attacked(tmp_path, source) as found:
        (found.logs / "bomb").write_bytes(bomb)
        (found.logs / "bomb").rename(found.logs / "bomb.gz")
        found.check_others()
        wait_for("it is told", lambda: found.hostile("unreadable_total") >= 1, 900)
        assert found.cost(f"a gzip bomb of 1 GB as {kind}{form}") < 40 * MIB


def begin(handler: Handler, **headers: str) -> None:
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def without_end(handler: Handler) -> None:
    begin(handler)
    while True:
        handler.wfile.write(b"a 1\n" * 20_000)


def billions_of_series(handler: Handler) -> None:
    begin(handler)
    number = 0
    while True:
        lines = [f'{LABEL}{number + each}"}} 1\n' for each in range(2000)]
        number += len(lines)
        handler.wfile.write("".join(lines).encode())


def drips_its_body(handler: Handler) -> None:
    begin(handler)
    drips(handler)


def header_without_end(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        handler.wfile.write(b"y" * 60_000)


def continues(handler: Handler) -> None:
    while True:
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def chunk_without_end(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
    while True:
        handler.wfile.write(b"x" * 60_000)


def trailers_without_end(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    while True:
        handler.wfile.write(b"x: y\r\n" * 1000)


ZIPPED = {"Content-Encoding": "gzip"}
DISK_READS = "# TYPE windows_physical_disk_read_seconds_total counter\n"
LABEL = 'windows_physical_disk_read_seconds_total{disk="'


def hostile_answers() -> dict[str, Answer]:
    """All of them; to make them takes seconds."""
    labels = ",".join(f'l{n}="v"' for n in range(4_000_000))
    return {
        "a body without end": without_end,
        "billions of series": billions_of_series,
        "one line of 60 MB": says(LABEL.encode() + b"d" * (60 * MIB) + b'"} 1\n'),
        "four million labels": says("x{" + labels + "} 1\n"),
        "a bomb": says(zeros(1024), headers=ZIPPED),
        "a bomb in a bomb": says(gzip.compress(zeros(1024)), headers=ZIPPED),
        "63 MB of empty lines": says(gzip.compress(b"\n" * (63 * MIB)), headers=ZIPPED),
        "a page of HTML": says(b"<html>\xff\x00" * 100_000, headers={"Content-Type": "text/html"}),
        "a redirect to a file": says("", 302, {"Location": "file:///etc/passwd"}),
        "a redirect to itself": says("", 302, {"Location": "/metrics"}),
        "a byte now and then": drips_its_body,
        "a header without end": header_without_end,
        "100 Continue without end": continues,
        "a chunk without end": chunk_without_end,
        "trailers without end": trailers_without_end,
    }


@pytest.mark.fault(
    "an exporter gives hostile answers",
    provoked="endless bodies, series, lines, labels, headers and chunks, gzip bombs, redirects"
    " to files and to itself, single bytes with pauses",
    lost="those scrapes; the counters continue from their values",
)
def test_no_answer_of_an_exporter_costs_more_than_100_mb(tmp_path: Path) -> None:
    with metrics_server() as server:
        server.answer(says(page(100, 1, 1.0)))
        source = {
            "type": "prometheus",
            "url": server.url,
            "computer": "EX01",
            "interval": "2s",
        }
        with attacked(tmp_path, source) as found:
            wait_for_value(found.agent, "ese_defrag_pages_read_total", INSTANCE, 0)
            answers = hostile_answers()
            for what, answer in answers.items():
                server.answer(answer)
                asked = len(server.requests())
                wait_for(what, lambda n=asked: len(server.requests()) >= n + 2)  # type: ignore[misc]
                assert found.hostile("up") == 0, what
            found.check_others()
            server.answer(says(page(350, 1, 1.0)))
            with until_right_again():
                wait_for_value(found.agent, "ese_defrag_pages_read_total", INSTANCE, 250)
            assert found.hostile("up") == 1
            assert found.cost(f"an exporter that gives {len(answers)} hostile answers") < 100 * MIB


def test_of_200_000_series_of_an_exporter_20_000_are_read(tmp_path: Path) -> None:
    lines = (f'{LABEL}{number}"}} 1\n' for number in range(200_000))
    with metrics_server() as server:
        server.answer(says(page(100, 1, 1.0)))
        source = {"type": "prometheus", "url": server.url, "computer": "EX01"}
        with attacked(tmp_path, source) as found:
            server.answer(says(DISK_READS + "".join(lines)))
            wait_for("the limit", lambda: found.hostile("records_total") >= 20_000)
            found.check_others()
            assert "more than 20000 counters, the rest is not read" in found.agent.log()
            assert found.cost("an exporter with 200,000 series") < 150 * MIB


def numbers_are_no_numbers() -> str:
    text = page(100, 1, float("nan")).replace("7.5", "+Inf")
    return text + "".join(
        f'{LABEL}{number}"}} {value}\n' for number, value in enumerate(("-Inf", "1e999", "-5"), 2)
    )


def test_what_is_no_finite_number_of_an_exporter_is_exposed_nowhere(tmp_path: Path) -> None:
    with metrics_server() as server:
        server.answer(says(numbers_are_no_numbers()))
        source = {"type": "prometheus", "url": server.url, "computer": "EX01", "interval": "1s"}
        with attacked(tmp_path, source) as found:
            wait_for("two scrapes", lambda: len(server.requests()) >= 3)
            found.check_others()
            text = get(f"{found.agent.url}/metrics")
            assert found.hostile("unreadable_total") >= 2
            values = [each.rsplit(" ", 1)[1] for each in text.splitlines() if "#" not in each]
            assert {"NaN", "+Inf", "-Inf"}.isdisjoint(values)


def bad_page(number: int) -> list[str]:
    offset = (number + 1) * 8192
    return [
        *("MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"),
        *(f"{offset} (0x{offset:016x})", "8192 (0x00002000)", "-1018 (0xfffffc06)"),
        *("[1111222233334444]", "[5555666677778888]", f"{number} (0x{number:X})"),
    ]


MARK = "@@@"
NAMED = line("ex", channel="App").replace("priv06", MARK)
OF_A_COMPUTER = line(MARK)
PAGE = json.loads(line("ex", event_id=474))
LINES: dict[str, Callable[[int], str]] = {
    "databases": lambda number: NAMED.replace(MARK, f"db{number}"),
    "computers": lambda number: OF_A_COMPUTER.replace(MARK, f"c{number}"),
    "bad pages": lambda number: (
        json.dumps({**PAGE, "Message": render(474, bad_page(number + 1))}) + "\n"
    ),
}


@pytest.mark.fault(
    "a million names, or bad pages",
    provoked="a log of a million lines, each with a different database, computer or bad page",
    lost="names and pages beyond the limits, counted",
    again="never wrong for what was known before",
)
@pytest.mark.parametrize("what", LINES)
def test_a_million_names_cost_less_than_150_mb(tmp_path: Path, what: str) -> None:
    source = {"type": "event_stream", "path": f"{tmp_path}/logs/flood*.log"}
    with attacked(tmp_path, source) as found:
        with (found.logs / "flood.log").open("w") as log:
            log.writelines(map(LINES[what], range(MILLION)))
        found.check_others()
        wait_for("all", lambda: found.hostile("records_total") == MILLION, 1800)
        text = samples(found.agent)
        dropped = total(text, "esewatch_databases_dropped_total")
        if what == "bad pages":
            # "At least": of those beyond the first thousand a part is known by its number.
            assert 5000 <= total(text, "ese_known_bad_pages") < MILLION
        else:
            assert dropped > 990_000
        more = f", {dropped:,.0f} not taken in" if dropped else ""
        assert found.cost(f"a million {what} in one log", more) < 150 * MIB


def test_30_000_files_cost_less_than_150_mb(tmp_path: Path) -> None:
    source = {"type": "event_stream", "path": f"{tmp_path}/logs/many/*.log"}
    with attacked(tmp_path, source) as found:
        (found.logs / "many").mkdir()
        for number in range(FILES):
            (found.logs / "many" / f"{number}.log").write_text(line("ex"))
        found.check_others()
        wait_for("all", lambda: found.hostile("records_total") == FILES, 1800)
        assert found.hostile("up") == 1
        assert found.cost(f"{FILES:,} files of one line") < 150 * MIB
