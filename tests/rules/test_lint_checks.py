"""Each check of lint.py finds what it looks for, and nothing in what is right."""

import promql_parser as ql
import pytest

from tests.rules import lint
from tests.rules.shapes import shape

D = "job, instance, computer, database"
INFO = "ese_database_info"
TRAITS = "ese_instance, database_name, path, role, model, tier, generation, page_size"
GOOD = [
    f"ese_known_bad_pages > 0 unless ignoring (kind, {TRAITS}) {INFO}",
    "ese_known_bad_pages - ese_known_bad_pages_found_in_history > 0",
    "ese_database_free_bytes / ese_database_size_bytes < 0.1",
    f"ese_known_bad_pages * ignoring (kind, {TRAITS}) group_left (tier) {INFO} > 0",
    'increase(ese_passes_completed_total{task="defrag"}[28d]) >= 1',
    "sum without (instance, operation) (increase(ese_hung_io_reports_total[5m])) >= 3",
    f"{INFO} unless ignoring (kind, {TRAITS}) ese_backup_last_completion_timestamp_seconds",
    "ese_slow_io_reports_total > 0 unless ese_slow_io_reports_total offset 1h",
    "time() - ese_database_first_seen_timestamp_seconds > 14 * 86400",
]


@pytest.mark.parametrize("expression", GOOD)
def test_what_is_right_passes_all_checks(expression: str) -> None:
    for check in lint.OF_EXPRESSIONS + lint.OF_ALERTS:
        assert list(check(expression)) == []


def test_the_counters_are_those_of_the_exposition() -> None:
    found = lint.counters()

    assert len(found) > 30
    assert "ese_known_bad_pages" not in found
    assert "esewatch_journal_commit_duration_seconds_bucket" in found
    assert all(name.endswith(("_total", "_bucket", "_count", "_sum")) for name in found)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (
            "rate(ese_slow_io_reports_total[3m]) > 0",
            ["rate(ese_slow_io_reports_total[3m])"],
        ),
        (
            "increase(ese_known_bad_pages[1h]) > 0",
            ["increase() of ese_known_bad_pages, which is no counter"],
        ),
        (
            "increase(database:ese_database_io:rate1d[1h]) > 0",
            ["increase() of database:ese_database_io:rate1d, which is no counter"],
        ),
        ("max_over_time(rate(ese_slow_io_reports_total[4m])[1h:1m]) > 0", []),
        ("rate(sum(ese_slow_io_reports_total)[1h:1m]) > 0", ["rate() of a subquery"]),
    ],
)
def test_growth_is_of_counters_over_four_scrapes(expression: str, found: list[str]) -> None:
    assert list(lint.wrong_ranges(expression)) == found


@pytest.mark.parametrize(
    "expression",
    [
        "ese_slow_io_reports_total > 5",
        "last_over_time(ese_slow_io_reports_total[1h]) > 5",
        "sum by (job, instance) (ese_slow_io_reports_total) > 5",
        f"ese_known_bad_pages > 0 and on ({D}) ese_slow_io_reports_total > 1",
        "ese_slow_io_reports_total > 5 unless ese_slow_io_reports_total offset 1h",
        "ese_slow_io_reports_total > 0 unless ese_slow_io_reports_total",
        "ese_slow_io_reports_total - ese_slow_io_reports_total offset 1h > 0",
        "last_over_time(ese_slow_io_reports_total[5m]) "
        "- last_over_time(ese_slow_io_reports_total[1h] offset 5m)",
        "last_over_time(ese_slow_io_reports_total[5m]) "
        "- last_over_time(ese_slow_io_reports_total[1h]) > 0",
        "deriv(ese_slow_io_reports_total[1h]) > 0",
        "max_over_time(ese_slow_io_reports_total[1h:1m]) > 0",
    ],
)
def test_a_counter_that_is_looked_at_raw_is_found(expression: str) -> None:
    assert set(lint.raw_counters(expression)) == {"ese_slow_io_reports_total"}


def test_the_growth_between_the_last_values_of_two_times_may_be_looked_at() -> None:
    growth = (
        "last_over_time(ese_slow_io_reports_total[5m]) "
        "- last_over_time(ese_slow_io_reports_total[1h] offset 5m) > 0"
    )
    assert list(lint.raw_counters(f"sum by (job, instance) ({growth}) >= 3")) == []


@pytest.mark.parametrize(
    "expression",
    [
        f"ese_known_bad_pages > 0 and on ({D}) ese_slow_io_reports_total",
        "absent(ese_slow_io_reports_total)",
        "changes(ese_slow_io_reports_total[1h]) > 1",
        "count by (job, instance) (ese_slow_io_reports_total) > 100",
    ],
)
def test_the_presence_of_a_counter_may_be_looked_at(expression: str) -> None:
    assert list(lint.raw_counters(expression)) == []


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (
            f"ese_known_bad_pages > 0 unless {INFO}",
            "unless without on between (computer, database, instance, job, kind, team)",
        ),
        (
            "ese_known_bad_pages and on (job, instance, computer, device) "
            "ese_database_size_bytes > 0",
            "and on device, which the left side lacks",
        ),
        (
            "ese_database_size_bytes > 0 and on (job, instance, computer, kind) "
            "ese_database_size_bytes",
            "and on kind, which the left side lacks",
        ),
        (
            f"ese_known_bad_pages / on ({D}) ese_database_size_bytes > 0",
            "/: many on the left side, told apart by kind",
        ),
        (
            f"ese_known_bad_pages * on ({D}) group_left (tier) ese_known_bad_pages > 0",
            "*: many on the right side, told apart by kind",
        ),
        (
            f"ese_database_size_bytes * on ({D}) group_left () {INFO} > 0",
            "* with group_left that adds nothing",
        ),
        (
            f"ese_known_bad_pages * on ({D}) group_left (tier) ese_database_size_bytes > 0",
            "* takes over tier, which is not there",
        ),
        (
            "ese_database_size_bytes > on (job, instance, computer) ese_database_free_bytes",
            ">: many on the left side, told apart by database",
        ),
        (
            f"{INFO} * on ({D}) group_right () ese_database_size_bytes > 0",
            "* with group_right that adds nothing",
        ),
    ],
)
def test_a_join_that_cannot_work_is_found(expression: str, found: str) -> None:
    assert [text for text in lint.wrong_joins(expression) if text.startswith(found)]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (
            "topk(3, ese_known_bad_pages) > 0",
            ["topk picks other elements from time to time"],
        ),
    ],
)
def test_what_wavers_is_found(expression: str, found: list[str]) -> None:
    assert list(lint.fragile(expression)) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("sum by (computer) (ese_known_bad_pages) > 0", ["no job", "no team"]),
        ("sum by (job, instance, computer) (ese_known_bad_pages) > 0", ["no team"]),
        ("sum without (instance) (ese_known_bad_pages) > 0", []),
        ("ese_known_bad_pages > on (job, computer) ese_known_bad_pages", ["no team"]),
        ('absent(up{job="esewatch"})', []),
    ],
)
def test_an_alert_that_loses_labels_of_the_site_is_found(expression: str, found: list[str]) -> None:
    assert list(lint.lost_origin(expression)) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f"ese_known_bad_pages and on ({D}) {INFO}", ["and on instance"]),
        ("sum by (job, instance) (ese_known_bad_pages) > 0", ["sum by instance"]),
        ("max without (instance) (ese_known_bad_pages) > 0", []),
        ("ese_known_bad_pages unless on (job, computer) esewatch_host_caught_up", []),
    ],
)
def test_an_alert_that_breaks_when_its_agent_moves_is_found(
    expression: str, found: list[str]
) -> None:
    assert list(lint.bound_to_an_agent(expression)) == found


@pytest.mark.parametrize(
    "expression",
    [
        "ese_known_bad_pages",
        "ese_known_bad_pages > bool 0",
        f"ese_known_bad_pages and on ({D}) {INFO}",
        f"ese_known_bad_pages unless on ({D}) {INFO}",
        "ese_known_bad_pages > 0 or ese_known_bad_pages",
        "sum by (job, instance) (ese_known_bad_pages)",
        "vector(1)",
    ],
)
def test_an_alert_without_a_condition_is_found(expression: str) -> None:
    assert list(lint.no_condition(expression)) == ["no comparison"]


@pytest.mark.parametrize(
    "expression",
    [
        'database:ese_finding:last15m{finding="scans_collide"}',
        f"{INFO} unless on ({D}) ese_database_size_bytes",
        f"ese_known_bad_pages and on ({D}) ese_database_size_bytes > 5",
        "max by (job, instance) (ese_known_bad_pages > 0)",
        'absent(up{job="esewatch"})',
    ],
)
def test_an_absence_or_a_finding_is_a_condition(expression: str) -> None:
    assert list(lint.no_condition(expression)) == []


def test_a_comparison_of_numbers_is_found() -> None:
    assert list(lint.impossible("ese_known_bad_pages > 0 and vector(1) > 0")) == []
    assert list(lint.impossible("vector(time() > bool 5) > 0")) == ["> between numbers"]


@pytest.mark.parametrize("text", ["1x", "", "-1h", "0s", "1.5h"])
@pytest.mark.parametrize("field", ["for", "keep_firing_for"])
def test_a_hold_time_that_is_none_is_found(field: str, text: str) -> None:
    assert list(lint.wrong_durations({field: text})) == [f"{field}: {text}"]


@pytest.mark.parametrize("text", ["1h", "90s", "1d12h"])
def test_a_hold_time_that_is_one_passes(text: str) -> None:
    assert list(lint.wrong_durations({"for": text})) == []


@pytest.mark.parametrize(
    ("text", "expression", "found"),
    [
        ("{{ $labels.device }}", "ese_known_bad_pages > 0", ["device"]),
        ("{{ $labels.kind | urlquery }}", "ese_known_bad_pages > 0", []),
        (
            "{{ $labels.kind }} of {{ $labels.database }}",
            f"max by ({D}) (ese_known_bad_pages) > 0",
            ["kind"],
        ),
        (
            "{{ $labels.tier }}",
            f"ese_database_size_bytes > on ({D}) group_left () ese_database_free_bytes",
            ["tier"],
        ),
        (
            "{{ $labels.tier }}",
            f"ese_known_bad_pages * on ({D}) group_left (tier) {INFO} > 0",
            [],
        ),
        (
            "{{ $labels.ese_instance }}",
            f"{INFO} > on ({D}) ese_database_free_bytes",
            ["ese_instance"],
        ),
        ("{{ $labels.instance }}", 'up == 0 or absent(up{job="a"})', ["instance"]),
        ('{{ or $labels.instance "x" }}', 'up == 0 or absent(up{job="a"})', []),
        (
            "{{ with $labels.instance }}{{ $labels.instance }}{{ end }}{{ $labels.instance }}",
            'up == 0 or absent(up{job="a"})',
            ["instance"],
        ),
        ('{{ or $labels.device "x" }}', "ese_known_bad_pages > 0", ["device"]),
        (
            '{{ range printf "x{y=%q}" $labels.device | query }}{{ end }}',
            "ese_known_bad_pages > 0",
            ["device"],
        ),
    ],
)
def test_a_label_that_the_alert_has_not_is_found(
    text: str, expression: str, found: list[str]
) -> None:
    assert list(lint.strange_labels(text, expression)) == found


def test_the_queries_of_a_template_are_found() -> None:
    text = '{{ with printf "up{job=%q} > 0" $labels.job | query }}{{ end }} {{ $value }}'

    assert lint.queries(text) == ['up{job=""} > 0']


def test_the_queries_of_a_template_may_be_made_of_parts() -> None:
    text = """
        {{ $of := printf "{job=%q,x=\\"y\\"}[1h]" $labels.job }}
        {{ $a := printf "last_over_time(a%s)" $of | query -}}{{ printf "%s" $labels.job }}
        """

    assert lint.queries(text) == ['last_over_time(a{job="",x="y"}[1h])']


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one {{ $labels.two }} three", 3),
        ("{{ if $a }}one two{{ else if $b }}one two three{{ else }}one{{ end }} four", 4),
        (
            "a{{ with $a }} b{{ if $c }} c d{{ else }} c{{ end }} e{{- end }}{{ range $b }} f"
            "{{ end }}",
            6,
        ),
        ('one {{ printf "a b c" | query }}', 2),
    ],
)
def test_words_are_those_of_the_longest_text(text: str, words: int) -> None:
    assert lint.longest(text) == words


def test_an_unknown_metric_has_no_shape() -> None:
    with pytest.raises(KeyError):
        shape(ql.parse("ese_nothing"))
