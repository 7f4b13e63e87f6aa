"""What a scrape gets: format by Accept, gzip by Accept-Encoding, label values that survive."""

import gzip
import threading
from collections.abc import Iterator

import pytest
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector

from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot, commit_histogram, own_families
from esewatch.fold.state.state import Database, Host, Instance, State
from tests.expose.examples import NOW, example

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Kept(Collector):
    """Families for the library's own writers."""

    def __init__(self, made: list[Metric]) -> None:
        self.made = sorted(made, key=lambda metric: metric.name)

    def collect(self) -> list[Metric]:
        return self.made


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text"])
def test_the_bytes_are_those_that_prometheus_client_writes(accept: str) -> None:
    """Of names with quotes, backslashes and new lines, too."""
    made = [*families(example(), Settings(), NOW), *own_families(commit_histogram())]
    body, _, _ = Snapshot.of(made).render(accept)

    assert body.count(b"\n") > 300
    assert body == choose_encoder(accept)[0](Kept(made))


def snapshot(path: str = r"e:\mdb06\priv06.edb", before: Snapshot | None = None) -> Snapshot:
    one = Database(
        computer="ex01", database=path, path=path, process="MSExchangeIS", maintenance_seen=True
    )
    state = State(databases={("ex01", path): one})
    return Snapshot.of(families(state, Settings(), 0.0), before)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", TEXT),
        ("*/*", TEXT),
        (BROWSER, TEXT),
        (PROMETHEUS_2, OPENMETRICS),
        (PROMETHEUS_3, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; Version=1.0.0", OPENMETRICS),
        ("application/openmetrics-text;version=0.0.1", TEXT),
        ("application/openmetrics-text;version=2.0.0", TEXT),
        ("application/openmetrics-text;q=0", TEXT),
        ("application/openmetrics-text;q=0.2, text/plain;version=0.0.4;q=0.9", TEXT),
        ("application/openmetrics-text;q=0.9, text/plain;q=0.2", OPENMETRICS),
        ("application/openmetrics-text;q=nan", TEXT),
        (";;,=,q=,application/openmetrics-text;q=9e999", TEXT),
    ],
)
def test_the_format_is_the_one_the_client_prefers(accept: str, expected: str) -> None:
    body, content_type, encoding = snapshot().render(accept)

    assert content_type == expected
    assert body.endswith(b"# EOF\n") == (expected == OPENMETRICS)
    assert encoding == ""


def test_what_was_asked_before_is_ready_and_what_was_not_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[bool] = []
    parts = Snapshot._parts

    def counting(self: Snapshot, *, openmetrics: bool) -> Iterator[bytes]:
        joined.append(openmetrics)
        return parts(self, openmetrics=openmetrics)

    first = snapshot()
    first.render(PROMETHEUS_2, "gzip")
    monkeypatch.setattr(Snapshot, "_parts", counting)
    second = snapshot(before=first)
    assert joined == [True]
    assert second.render(PROMETHEUS_2, "gzip") == first.render(PROMETHEUS_2, "gzip")
    assert joined == [True]
    assert snapshot(before=snapshot()).render() == first.render()
    assert joined == [True, False, False]


@pytest.mark.parametrize(
    ("accept_encoding", "expected"),
    [
        ("", ""),
        ("identity", ""),
        ("deflate, br", ""),
        ("gzip;q=0", ""),
        ("gzip;q=0.000, identity", ""),
        ("gzip", "gzip"),
        ("deflate, GZIP;q=0.5", "gzip"),
        ("x-gzip", "gzip"),
    ],
)
def test_gzip_is_used_where_the_client_takes_it(accept_encoding: str, expected: str) -> None:
    plain = snapshot().render()[0]
    body, _, encoding = snapshot().render("", accept_encoding)

    assert encoding == expected
    assert (gzip.decompress(body) if encoding else body) == plain


def test_a_snapshot_renders_each_form_once_and_the_same_for_all_threads() -> None:
    shared = snapshot()
    bodies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: bodies.append(shared.render("", "gzip")[0]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(bodies) == 8
    assert all(body is bodies[0] for body in bodies)
    assert shared.render()[0] is shared.render()[0]


def test_equal_states_render_to_equal_bytes() -> None:
    assert snapshot().render("", "gzip") == snapshot().render("", "gzip")


def test_a_snapshot_is_sorted_whatever_it_was_made_of() -> None:
    made = families(State(hosts={"ex01": Host(computer="ex01")}), Settings(), 0.0)
    made += own_families(commit_histogram(), proc="/nowhere")
    lines = [{"ese_finding": b"b\n"}, {"ese_finding": b"a\n"}]
    text = Snapshot.of(reversed(made), lines=lines).render()[0]

    names = [line.split()[2] for line in text.splitlines() if line.startswith(b"# TYPE")]
    assert names == sorted(names)
    assert b"# TYPE ese_finding gauge\nb\na\n" in text


@pytest.mark.parametrize(
    "path",
    [
        r"e:\mdb06\priv06.edb",
        r"\\server\share\new\table.edb",
        '/data/with "quotes" and\nnew line.edb',
        "/daten/größe/数据库.edb",
        "/emoji/\U0001f4be.edb",
        "ends with a backslash\\",
        "{computer='x'} # EOF",
    ],
)
def test_any_path_survives_both_formats(path: str) -> None:
    made = snapshot(path)
    text = made.render()[0].decode("utf-8")
    openmetrics = made.render(OPENMETRICS)[0].decode("utf-8")

    for parsed in (list(parse_text(text)), _parsed(openmetrics)):
        seen = {
            sample.labels["database"]
            for metric in parsed
            for sample in metric.samples
            if "database" in sample.labels
        }
        assert seen == {path}


def _parsed(openmetrics: str) -> list[Metric]:
    return list(parse_openmetrics(openmetrics))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("path", ["/a/\udc80.edb", "/a/\0.edb", "\ud800"])
def test_a_path_that_is_no_text_is_escaped_and_breaks_nothing(path: str) -> None:
    body = snapshot(path).render()[0]

    assert b"\0" not in body
    assert list(parse_text(body.decode("utf-8")))
    assert snapshot(path).render(OPENMETRICS)[0].endswith(b"# EOF\n")


def test_every_free_label_may_hold_anything() -> None:
    bad = 'x\udfff\0"\\\n'
    state = State(
        hosts={bad: Host(computer=bad, events={bad: {1: 1}}, counters_present={bad: True})},
        instances={
            (bad, bad): Instance(
                computer=bad, ese_instance=bad, totals={"ese_defrag_pages_read_total": 1.0}
            )
        },
    )
    made = Snapshot.of(families(state, Settings(), 0.0))

    read = parse_text(made.render()[0].decode("utf-8"))
    assert len([each for each in read if each.samples[0].labels]) == 3
