"""Lines of the Prometheus text formats, good and bad."""

import gzip
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.sources.counters.exposition import MAX_LINE, MAX_LINES, BadLine, Sample, samples
from esewatch.sources.counters.scrape import Page
from tests.support.campaign import EXAMPLES
from tests.support.processor import processor_seconds
from tests.support.samples import sample


def read(text: str, *wanted: str, openmetrics: bool = False) -> list[Sample | BadLine]:
    """What is there of `wanted`, and what cannot be read."""
    found = samples(Page(text.encode(), openmetrics), lambda name: name in wanted)
    return [item for item in found if item is not None]


def test_a_sample_has_name_type_labels_value_and_time() -> None:
    text = (
        "# HELP a Some help.\n# TYPE a counter\n"
        'a{volume="C:\\\\mnt \\"x\\"",b="1"} 1.5e+03\n'
        "a 2 1182395655123\n"
    )

    assert read(text, "a") == [
        Sample("a", "counter", {"volume": 'C:\\mnt "x"', "b": "1"}, 1500.0, None),
        Sample("a", "counter", {}, 2.0, 1182395655.123),
    ]


def test_windows_line_ends_tabs_and_blank_lines_are_read() -> None:
    assert read("# TYPE a gauge\r\n\r\n a\t3 \r\n", "a") == [Sample("a", "gauge", {}, 3.0, None)]


def test_openmetrics_names_a_counter_without_its_ending_and_counts_time_in_seconds() -> None:
    text = (
        "# TYPE reads counter\nreads_total 5 1182395655.5\n"
        '# TYPE other counter\nother_total{instance="x"} 6 # {trace="1"} 0.5 1.0\n# EOF\n'
    )

    assert read(text, "reads_total", "other", openmetrics=True) == [
        Sample("reads_total", "counter", {}, 5.0, 1182395655.5),
        Sample("other", "counter", {"instance": "x"}, 6.0, None),
    ]


def test_a_bad_line_costs_only_itself() -> None:
    text = 'a 1\na{instance="x} 2\na{instance="x"} two\n<html>\n{"a", b="1"} 3\na 4\n'

    found = read(text, "a")

    assert [item.value for item in found if isinstance(item, Sample)] == [1.0, 4.0]
    assert [item.number for item in found if isinstance(item, BadLine)] == [2, 3, 4]


def test_a_last_line_that_does_not_end_is_not_taken_for_a_number() -> None:
    found = read("a 1\na 23", "a")

    assert found[0] == Sample("a", "", {}, 1.0, None)
    assert found[1:] == [BadLine(2, "a 23", "the last line is cut short")]


def test_a_line_without_end_is_one_fault() -> None:
    (found,) = read(f'a{{b="{"x" * MAX_LINE}"}} 1\n', "a")

    assert isinstance(found, BadLine)
    assert found.reason == "the line is too long"
    assert len(found.text) == MAX_LINE


def test_a_page_of_endless_lines_ends() -> None:
    found = list(samples(Page(b"\n" * (MAX_LINES + 5), False), lambda name: True))

    assert [type(item) for item in found] == [BadLine]


def test_names_that_nobody_wants_are_not_taken_apart() -> None:
    found = list(samples(Page(b"a 1\nb{c=d} 2\n", False), lambda name: False))

    assert found == [None, None]


def test_a_hostile_line_takes_no_time_worth_mentioning() -> None:
    lines = ["a{" * 4000, "a " * 4000, 'a{b="' + '\\"' * 4000, "a" * 8000 + "!"]
    found: list[object] = []

    assert processor_seconds(lambda: found.extend(read("\n".join(lines) + "\n", "a"))) < 5

    assert all(isinstance(item, BadLine) for item in found)
    assert len(found) == 4


def test_every_line_of_a_real_exporter_is_read() -> None:
    path = sample("perf/windows_exporter-v0.20.0-metrics.txt.gz")
    text = gzip.decompress(path.read_bytes()).decode()
    expected = [line for line in text.split("\n") if line and not line.startswith("#")]

    found = list(samples(Page(text.encode(), False), lambda name: True))

    assert not [item for item in found if isinstance(item, BadLine)]
    got = [item for item in found if isinstance(item, Sample)]
    assert len(got) == len(expected)
    assert [item.name for item in got] == [re.split(r"[{ ]", line)[0] for line in expected]
    assert [item.value for item in got] == [float(line.rsplit(" ", 1)[1]) for line in expected]
    disk = [item for item in got if item.name == "windows_logical_disk_reads_total"]
    assert [(item.labels, item.value, item.type) for item in disk] == [
        ({"volume": "C:"}, 350593.0, "counter"),
        ({"volume": "HarddiskVolume4"}, 6.0, "counter"),
    ]


PIECES = [
    "a",
    "b",
    "{",
    "}",
    '"',
    "\\",
    "=",
    ",",
    " ",
    "\t",
    "#",
    " # ",
    "TYPE",
    "counter",
    "1",
    "-",
    "e",
    ".",
    "NaN",
    "Inf",
    "_total",
    "_",
    "é",
    "\0",
    "\r",
    "\n",
    "\u2028",
]


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(
    lines=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=6),
    noise=st.binary(max_size=20),
    openmetrics=st.booleans(),
)
def test_no_page_breaks_the_reader_and_good_lines_survive_it(
    lines: list[str], noise: bytes, openmetrics: bool
) -> None:
    data = "\n".join(lines).encode() + noise + b'\nb{instance="x"} 5\n'

    found = list(samples(Page(data, openmetrics), lambda name: name in {"a", "b"}))

    good = [item for item in found if isinstance(item, Sample)]
    assert good[-1][2:4] == ({"instance": "x"}, 5.0)
    assert all(isinstance(item.value, float) for item in good)
    assert all(item.time is None or isinstance(item.time, float) for item in good)
    assert all(item.number >= 1 and item.reason for item in found if isinstance(item, BadLine))
