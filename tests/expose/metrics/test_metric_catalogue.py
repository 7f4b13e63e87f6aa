"""The catalogue holds names that promtool, Prometheus and a reader expect."""

import re

from esewatch.expose.metrics.metric_catalogue import CATALOGUE, SECTIONS
from esewatch.expose.metrics.metric_row import LABELS, MetricRow
from tests.support.each import of_each

each_row = of_each(CATALOGUE.values(), lambda row: row.name)


def test_no_metric_is_listed_twice() -> None:
    names = [row.name for rows in SECTIONS.values() for row in rows]

    assert len(names) == len(set(names)) == len(CATALOGUE)


@each_row
def test_a_name_has_a_known_prefix_and_no_colon(row: MetricRow) -> None:
    assert re.fullmatch(r"(ese|esewatch|exchange|process|sqlserver)_[a-z0-9_]+", row.name)


@each_row
def test_counters_and_only_counters_end_in_total(row: MetricRow) -> None:
    assert row.name.endswith("_total") == (row.type == "counter")


@each_row
def test_a_unit_is_the_end_of_the_family_name_and_a_base_unit(row: MetricRow) -> None:
    assert row.unit in ("", "seconds", "bytes")
    assert row.family.endswith(row.unit)
    assert not re.search(r"_(ms|milliseconds|minutes|hours|days|kb|mb|percent)(_|$)", row.name)


@each_row
def test_help_is_a_sentence_that_names_its_origin_and_ends_with_a_full_stop(row: MetricRow) -> None:
    assert row.what.endswith(".")
    assert row.help.endswith(f" From {row.origin}.")
    assert not row.origin.endswith(".")
    assert "\n" not in row.help
    assert row.help[0].isupper() or row.help[0].isdigit()


@each_row
def test_every_label_is_explained_and_none_is_forbidden(row: MetricRow) -> None:
    assert set(row.labels) <= LABELS.keys()
    assert len(row.labels) == len(set(row.labels))
    assert not {"type", "job", "instance", "pid", "page_number", "date"} & set(row.labels)


def test_every_explained_label_is_used() -> None:
    used = {label for row in CATALOGUE.values() for label in row.labels}

    assert used | {"le"} == LABELS.keys()


def test_no_metric_is_a_policy() -> None:
    assert not [name for name in CATALOGUE if "policy" in name]


def test_the_family_of_a_counter_is_its_name_without_total() -> None:
    assert CATALOGUE["ese_events_total"].family == "ese_events"
    assert CATALOGUE["ese_known_bad_pages"].family == "ese_known_bad_pages"


def test_the_events_of_a_help_text_are_those_that_the_fold_knows() -> None:
    assert "events 705, 723, 724, 734." in CATALOGUE["ese_passes_failed_total"].help
    assert "event 728." in CATALOGUE["ese_index_defrag_pages_freed_total"].help
