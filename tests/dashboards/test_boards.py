"""Queries are asked as Grafana asks them."""

from tests.dashboards.boards import (
    Json,
    Span,
    chosen,
    escaped,
    interpolated,
    panels,
    seconds_of,
    span_of,
)

MANY: Json = {"name": "database", "multi": True, "includeAll": True, "allValue": ".+"}
ONE: Json = {"name": "mode", "multi": False, "includeAll": False}
BOARD: Json = {"time": {"from": "now-14d"}, "templating": {"list": [MANY, ONE]}}


def test_a_chosen_path_is_escaped_for_the_regular_expression_and_for_promql() -> None:
    assert escaped(r"E:\db0\db0.edb") == r"E:\\\\db0\\\\db0\\.edb"


def test_all_one_and_several_values_take_the_place_of_a_variable() -> None:
    assert chosen(MANY, []) == ".+"
    assert chosen(MANY, ["a.b"]) == r"a\\.b"
    assert chosen(MANY, ["a", "b"]) == "(a|b)"
    assert chosen(ONE, [r"c:\x.edb"]) == r"c:\\x.edb"
    assert chosen({"name": "x", "multi": True}, []) == ".*"


def test_the_lengths_of_time_are_those_of_grafana() -> None:
    span = span_of(BOARD, {}, 2_000_000_123.0, 60.0)

    assert span == Span(1_998_790_523.0, 2_000_000_123.0, 1210.0, 60.0)
    assert span.built_in["__rate_interval"] == "1270s"
    assert span.built_in["__range"] == "1209600s"
    assert Span(0, 600, 15, 15).built_in["__rate_interval"] == "60s"
    assert span_of(BOARD, {"interval": "1h", "timeFrom": "2d"}, 7200.0 * 36, 60.0).step == 3600
    assert span_of(BOARD, {"maxDataPoints": 14}, 86400.0 * 40, 60.0).step == 86400
    assert seconds_of("now-90m") == 5400


def test_an_expression_is_asked_with_all_its_variables_filled() -> None:
    span = Span(0.0, 3600.0, 15.0, 15.0)
    text = 'rate(x{database=~"$database",m=~"${mode:regex}"}[$__rate_interval]) > $__range_s'

    assert interpolated(text, BOARD, span, {"database": ["a", "b"], "mode": ["y"]}) == (
        'rate(x{database=~"(a|b)",m=~"y"}[60s]) > 3600'
    )


def test_what_the_server_of_grafana_fills_in_is_left_to_it() -> None:
    text = 'rate(x{database=~"$database"}[$__rate_interval])'

    assert interpolated(text, BOARD, None, {}) == 'rate(x{database=~".+"}[$__rate_interval])'


def test_panels_of_collapsed_rows_are_panels_too() -> None:
    row = {"type": "row", "panels": [{"type": "stat", "id": 1}]}

    assert [panel["id"] for panel in panels({"panels": [row, {"type": "table", "id": 2}]})] == [
        1,
        2,
    ]
