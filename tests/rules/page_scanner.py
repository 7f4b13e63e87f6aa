"""The promtool cases once more, beside an agent of another machine that only scans pages.

It has series of the same databases, and knows nothing that an event or a counter says: its zeros
are no news, and none of them may begin, change or end an alert.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.rules.moved import asked, samples

INFO = re.compile(r"ese_database_info\{(?P<labels>.*)\}")
LABEL = re.compile(r'(?P<name>\w+)="(?P<value>(?:[^"\\]|\\.)*)"')
CONFIGURED = {"database_name", "model", "tier"}
INSTANCE = "scan01:19703"
OF_DATABASE = """
ese_database_info{database_name="",ese_instance="",generation="",model="",page_size="8192",path="a.edb",role="",tier=""} 1
ese_database_verdict{verdict="ok"} 1
ese_header_bad_checksums{} 0
ese_header_corrected{} 0
ese_header_correction_failed{} 0
ese_known_bad_pages{kind="uncorrectable"} 0
ese_page_scan_bad_pages_total{} 0
ese_pass_bad_checksums_total{task="checksum"} 0
ese_pass_pages_seen_total{task="checksum"} 0
ese_pass_running{task="checksum"} 0
ese_pass_running{task="defrag"} 0
ese_passes_completed_total{task="checksum"} 0
ese_passes_completed_total{task="defrag"} 0
ese_passes_interrupted_total{task="checksum"} 0
ese_passes_interrupted_total{task="defrag"} 0
ese_passes_started_total{task="checksum"} 0
ese_passes_started_total{task="defrag"} 0
ese_slow_io_reports_total{operation="read"} 0
ese_slow_io_reports_total{operation="write"} 0
ese_window_advice{action="grow"} 0
ese_window_advice{action="insufficient_evidence"} 0
ese_window_advice{action="keep"} 0
ese_window_advice{action="move"} 0
ese_window_advice{action="not_applicable"} 1
ese_window_advice{action="shrink"} 0
ese_window_advice_confidence_ratio{} 1
"""  # noqa: E501
"""What such an agent says of a database whose pages are good, but for the time of its scan."""
OF_COMPUTER = "esewatch_host_caught_up{} 1"


def beside_page_scanner(case: dict[str, Any]) -> dict[str, Any] | None:
    """The case with such an agent.

    None where it asks of no alert, has no database, one whose tier changes (what another agent
    holds for the tier matters there), or one that another such agent reports.
    """
    tests, databases = asked(case), list(_databases(case))
    of_one = {(each["computer"], each["database"]) for each in databases}
    scanned = any(each.get("ese_instance") == "" for each in databases)
    if not tests or not databases or scanned or len(databases) > len(of_one):
        return None
    count = max(samples(each["values"]) for each in case["input_series"])
    said = dict(each for labels in databases for each in _said(labels))
    series = [{"series": name, "values": f"{value}x{count}"} for name, value in said.items()]
    return {
        **case,
        "alert_rule_test": tests,
        "promql_expr_test": [],
        "input_series": [*case["input_series"], *series],
    }


def _databases(case: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The labels that agents give databases."""
    for each in case["input_series"]:
        if info := INFO.fullmatch(each["series"]):
            yield dict(LABEL.findall(info["labels"]))


def _said(labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Series and values of a database and its computer."""
    of_computer = {"computer": labels["computer"], "instance": INSTANCE, "job": labels["job"]}
    yield _series(OF_COMPUTER, of_computer, labels)
    for line in OF_DATABASE.strip().splitlines():
        yield _series(line, {**of_computer, "database": labels["database"]}, labels)


def _series(line: str, of: dict[str, str], configured: dict[str, str]) -> tuple[str, str]:
    name, own, value = re.split(r"[{}]", line)
    labels = of | dict(LABEL.findall(own))
    labels |= {label: configured.get(label, "") for label in CONFIGURED & labels.keys()}
    text = ",".join(f'{label}="{text}"' for label, text in sorted(labels.items()))
    return f"{name}{{{text}}}", value.strip()
