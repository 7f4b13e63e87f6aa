"""`_config` of a site: rules, alerts and dashboards that read no series of another one."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from esewatch.advice.alerts import LEVELS
from scripts.mixin import EXAMPLE, ROOT, SHIPPED, main
from tests.rules import promtool
from tests.rules.expressions import golden, uses
from tests.support.tools import require

NORTH = "cluster"
CONFIG = '_config:\n  selector: cluster=~"north|n\\\\d"\n  job: ese-north\n'
HELD = {f"{level}:ese_finding:held" for level in LEVELS}
"""What goes on by itself: it must keep nothing of another site."""
SERIES = frozenset(golden()) | {"up", "ALERTS", "ALERTS_FOR_STATE", *HELD}


@pytest.fixture(scope="module")
def north(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a site of its own."""
    folder = tmp_path_factory.mktemp("north")
    (folder / "site.yml").write_text(CONFIG)
    assert main([str(folder / "site.yml"), str(folder)]) == 0
    return folder


def expressions(file: Path) -> Iterator[str]:
    """Of rules; of a dashboard those of panels."""
    if file.suffix == ".json":
        yield from _found(json.loads(file.read_text()))
        return
    for group in yaml.safe_load(file.read_text()).get("groups", ()):
        yield from (rule["expr"] for rule in group["rules"])


def _found(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("expr"), str):
            yield node["expr"]
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _found(each)


def plain(expression: str) -> str:
    """Without the variables of Grafana, which are no durations."""
    for name in ("$__rate_interval", "$__interval", "$__range"):
        expression = expression.replace(name, "5m")
    return re.sub(r"vector\(\$\w+\)", "vector(1)", expression)


def test_a_site_that_sets_nothing_has_the_shipped_files(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text("_config: {}\n")
    assert main([str(tmp_path / "site.yml"), str(tmp_path)]) == 0

    shipped = [file for pattern in SHIPPED for file in ROOT.glob(pattern)]
    assert len(shipped) >= 15
    for file in shipped:
        assert (tmp_path / file.relative_to(ROOT)).read_bytes() == file.read_bytes(), file.name


def test_each_series_of_esewatch_has_the_selector_and_the_job_is_that_of_the_site(
    north: Path,
) -> None:
    asked, wrong = 0, []
    for pattern in SHIPPED:
        for file in sorted(north.glob(pattern)):
            for expression in expressions(file):
                for selector in uses(plain(expression)).selectors:
                    matchers = dict(selector.matchers)
                    own = selector.metric in SERIES
                    asked += own
                    if (matchers.get(NORTH) == r"north|n\d") is not own or (
                        selector.metric == "up" and matchers.get("job") not in {"ese-north", "$job"}
                    ):
                        wrong.append((file.name, selector))
    assert asked > 300
    assert wrong == []


def test_queries_in_the_text_of_an_alert_have_the_selector(north: Path) -> None:
    queries = [
        (file.name, query)
        for file in sorted((north / "alerts").glob("*.yml"))
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        for text in rule["annotations"].values()
        for query in re.findall(r"[\w:]*\{[^{}]*=%q[^{}]*\}", text)
    ]
    assert len(queries) > 10
    assert [each for each in queries if (":" in each[1]) == (NORTH in each[1])] == []


def test_variables_of_a_dashboard_list_what_is_of_the_site(north: Path) -> None:
    for file in sorted((north / "dashboards").glob("*.json")):
        queries = [
            variable["query"]
            for variable in json.loads(file.read_text())["templating"]["list"]
            if variable["type"] == "query"
        ]
        assert queries, file.name
        assert [query for query in queries if 'cluster=~"north|n\\\\d"' not in query] == []


def test_the_rules_of_a_site_fire_for_it_alone(north: Path, tmp_path: Path) -> None:
    target = 'computer="ex01",database="a",instance="ex01:19703",job="ese-north"'
    bad = f'{{{target},finding="known_bad_page",severity="critical"'
    up = 'up{instance="ex01:19703",job='
    series = [
        {"series": f'ese_finding{bad},cluster="n1"}}', "values": "1x30"},
        {"series": f'ese_finding{bad},cluster="south"}}', "values": "1x30"},
        {"series": f'{up}"ese-north",cluster="north"}}', "values": "0x30"},
        {"series": f'{up}"ese-north",cluster="south"}}', "values": "0x30"},
        {"series": f'{up}"esewatch",cluster="north"}}', "values": "0x30"},
    ]
    of_north = {"job": "ese-north"}
    page = {**of_north, "cluster": "n1", "computer": "ex01", "database": "a"}
    page |= {"finding": "known_bad_page", "severity": "critical"}
    down = {**of_north, "cluster": "north", "instance": "ex01:19703", "severity": "warning"}
    cases = [
        {"eval_time": "20m", "alertname": name, "exp_alerts": [{"exp_labels": labels}]}
        for name, labels in (("EseKnownBadPage", page), ("EsewatchDown", down))
    ]
    done = _run(tmp_path, series, cases, [north])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_alert_of_one_site_is_not_kept_by_the_rules_of_another(tmp_path: Path) -> None:
    sites = [tmp_path / name for name in ("north", "south")]
    for site in sites:
        site.mkdir()
        (site / "site.yml").write_text(f"_config: {{selector: 'cluster=\"{site.name}\"'}}\n")
        assert main([str(site / "site.yml"), str(site)]) == 0
    target = 'computer="ex01",instance="ex01:19703",job="esewatch",cluster="south"'
    of_page = 'database="a",finding="known_bad_page",severity="critical"'
    series = [{"series": f"ese_finding{{{target},{of_page}}}", "values": "1x30 0x90"}]
    page = {"job": "esewatch", "cluster": "south", "computer": "ex01", "database": "a"}
    page |= {"finding": "known_bad_page", "severity": "critical"}
    name = "EseKnownBadPage"
    cases = [
        {"eval_time": "20m", "alertname": name, "exp_alerts": [{"exp_labels": page}]},
        {"eval_time": "110m", "alertname": name, "exp_alerts": []},
    ]
    done = _run(tmp_path, series, cases, sites)
    assert done.returncode == 0, done.stdout + done.stderr


def _run(
    folder: Path, series: list[Any], cases: list[Any], sites: list[Path]
) -> subprocess.CompletedProcess[str]:
    """The cases, with the alerts of all these sites in one Prometheus."""
    names = []
    for site in sites:
        held = site / "rules" / "findings.rules.yml"
        for file in (held, *sorted((site / "alerts").glob("*.yml"))):
            rules = promtool.without_texts(yaml.safe_load(file.read_text()))
            names.append(f"{site.name}-{file.name}")
            (folder / names[-1]).write_text(yaml.safe_dump(rules))
    document = {
        "rule_files": names,
        "evaluation_interval": "5m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": cases}],
    }
    (folder / "site_test.yml").write_text(yaml.safe_dump(document))
    return promtool.run([folder / "site_test.yml"])


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a site that tells its computers apart by two labels, and its agents by two."""
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "site.yml").write_text(
        "_config: {siteLabels: [site, cluster], agentLabels: [instance, pod]}\n"
    )
    assert main([str(folder / "site.yml"), str(folder)]) == 0
    return folder


def test_each_list_of_labels_has_those_of_the_site_and_of_its_agents(labelled: Path) -> None:
    lists = [
        found
        for pattern in SHIPPED
        for file in labelled.glob(pattern)
        for found in re.findall(r"(?:by|without|on|ignoring) \(([^()]+)\)", file.read_text())
    ]
    alertmanager = yaml.safe_load((labelled / EXAMPLE).read_text())

    assert len(lists) > 100
    assert [each for each in lists if ("instance" in each.split(", ")) is not ("pod" in each)] == []
    assert alertmanager["route"]["group_by"] == ["job", "site", "cluster", "computer", "database"]
    for rule in alertmanager["inhibit_rules"]:
        assert {"site", "cluster"} <= set(rule["equal"])
        assert ("instance" in rule["equal"]) is ("pod" in rule["equal"])


def with_pods(of_site: str, text: str) -> str:
    """Cases, in YAML: each agent is a pod with the address of the others; sites have `of_site`."""
    text = text.replace('site="', f'{of_site}="').replace("site: ", f"{of_site}: ")
    text = text.replace("without (instance)", "without (instance, pod)")
    text = re.sub(r'\binstance="([^"]+)"', r'instance="any:19703",pod="\1"', text)
    return re.sub(r"\binstance: ([^,}\n]+)", r"instance: 'any:19703', pod: \1", text)


def in_(folder: Path, path: Path, text: str) -> Path:
    """A test file beside the rules of a site."""
    place = folder / "tests" / "rules" / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(re.sub(rf"{re.escape(str(ROOT))}/", "../../", text))
    return place


HELD_CASES = [path for path in promtool.TESTS if path.stem == "latched_EseKnownBadPage_test"]
AGENT_CASES = [path for path in promtool.TESTS if path.stem in {"agent_test", "blind_test"}]


@pytest.mark.parametrize(
    ("of_site", "path"),
    [
        *(pytest.param("site", path, id=f"site {path.stem}") for path in HELD_CASES + AGENT_CASES),
        *(pytest.param("cluster", path, id=f"cluster {path.stem}") for path in HELD_CASES),
    ],
)
def test_the_cases_hold_with_pods_and_with_either_label_of_a_site(
    of_site: str, path: Path, labelled: Path, tmp_path: Path
) -> None:
    cases = in_(labelled, path, with_pods(of_site, path.read_text()))

    done = promtool.run(promtool.prepare(cases, tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [path for path in promtool.TESTS if path.stem != "site_test"],
    ids=lambda path: path.stem,
)
def test_all_cases_hold_with_pods(path: Path, labelled: Path, tmp_path: Path) -> None:
    cases = in_(labelled, path, with_pods("cluster", path.read_text()))

    done = promtool.run(promtool.prepare(cases, tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_loads_the_rules_with_their_texts(north: Path) -> None:
    files = [*(north / "rules").glob("*.yml"), *(north / "alerts").glob("*.yml")]
    done = subprocess.run(
        [require("promtool"), "check", "rules", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def south(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a site whose Prometheus is the operator's, in a Grafana of several sites."""
    folder = tmp_path_factory.mktemp("south")
    (folder / "site.yml").write_text(
        "_config:\n  dashboardUidPrefix: South\n  dashboardTags: [south, mail]\n"
        "  prometheusRule: {labels: {release: prometheus}}\n"
    )
    assert main([str(folder / "site.yml"), str(folder)]) == 0
    return folder


def test_dashboards_of_a_site_have_uids_and_tags_of_their_own_and_link_to_each_other(
    south: Path,
) -> None:
    texts = [file.read_text() for file in sorted((south / "dashboards").glob("*.json"))]
    boards = [json.loads(text) for text in texts]
    uids = {board["uid"] for board in boards}
    texts += [file.read_text() for file in sorted((south / "alerts").glob("*.yml"))]
    linked = {uid for text in texts for uid in re.findall(r"/d/([\w-]+)", text)}

    assert len(uids) == 7 and all(re.fullmatch(r"South-[a-z]+", uid) for uid in uids)
    assert len(linked) > 4 and linked <= uids
    assert {tuple(board["tags"]) for board in boards} == {("south", "mail")}
    assert {tuple(link["tags"]) for board in boards for link in board["links"]} == {("south",)}


def test_the_operator_gets_the_rules_of_the_site_as_resources(south: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.yml").write_text("_config: {dashboardUidPrefix: South}\n")
    assert main([str(tmp_path / "plain.yml"), str(tmp_path)]) == 0
    names = []
    for file in sorted([*(south / "rules").glob("**/*.yml"), *(south / "alerts").glob("*.yml")]):
        found = yaml.safe_load(file.read_text())
        place = file.relative_to(south)
        plain = ROOT if file.parent.name == "site" else tmp_path
        assert (found["apiVersion"], found["kind"]) == (
            "monitoring.coreos.com/v1",
            "PrometheusRule",
        )
        assert found["metadata"]["labels"] == {"release": "prometheus"}
        assert found["spec"] == yaml.safe_load((plain / place).read_text())
        names.append(found["metadata"]["name"])
    assert len(names) > 12 and len(set(names)) == len(names)
    assert {"south-site", "south-storage-rules", "south-storage-alerts"} <= set(names)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


LIMITS = (
    "_config:\n  readLatencySeconds: 0.1\n  readLatencyCriticalSeconds: 0.3\n"
    "  logWriteSlowdown: 20\n  ratioLow: 40\n"
)
READS = r'operation="read",phase!="recovery"\}(?: offset 5m)? > ([\d.]+)\)'


def test_limits_of_a_site_are_in_its_alerts_and_on_its_dashboards(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(LIMITS)
    assert main([str(tmp_path / "site.yml"), str(tmp_path)]) == 0
    alerts = (tmp_path / "alerts" / "storage.yml").read_text()
    rules = (tmp_path / "rules" / "storage.rules.yml").read_text()
    drawn = {
        each["name"]: each["query"]
        for file in (tmp_path / "dashboards").glob("*.json")
        for each in json.loads(file.read_text())["templating"]["list"]
        if each["type"] == "constant"
    }

    assert re.findall(READS, alerts) == ["0.3", "0.3", "0.1"]
    assert rules.replace("20 * max", "10 * max") == (ROOT / "rules/storage.rules.yml").read_text()
    assert drawn["readLatencySeconds"] == "0.1"
    assert drawn["readLatencyCriticalSeconds"] == "0.3"
    assert drawn["ratioLow"] == "40"
    assert drawn["ratioHigh"] == "100"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_config: {selektor: a}\n", "Object contains unknown field `selektor`"),
        ("groups: []\n", "there is no _config with settings"),
        ("_config: {job: 7}\n", "Expected `str`, got `int` - at `_config.job`"),
        ("_config: {job: 'a\"b'}\n", "Expected `str` matching regex"),
        ("_config: {dashboardUidPrefix: a/b}\n", "Expected `str` matching regex"),
        (f"_config: {{dashboardUidPrefix: {'a' * 31}}}\n", "Expected `str` matching regex"),
        ("_config: {dashboardTags: []}\n", "Expected `array` of length >= 1"),
        ("_config: {prometheusRule: {label: {}}}\n", "Object contains unknown field `label`"),
        ("_config: {selector: cluster}\n", "selector is no list of matchers"),
        (
            '_config: {selector: \'cluster="a", instance=~"b.*"\'}\n',
            "selector has 'instance': use a label of your targets",
        ),
        (
            "_config: {selector: 'computer=\"ex01\"'}\n",
            "selector has 'computer': use a label of your targets",
        ),
        ("_config: {ratioLow: 0}\n", "Expected `float` > 0.0 - at `_config.ratioLow`"),
        ("_config: {siteLabels: []}\n", "Expected `array` of length >= 1"),
        ("_config: {siteLabels: [a, b, c, d]}\n", "Expected `array` of length <= 3"),
        ("_config: {siteLabels: [a-b]}\n", "Expected `str` matching regex"),
        (
            "_config: {siteLabels: [site, database]}\n",
            "siteLabels has 'database': use a label of your targets",
        ),
        (
            "_config: {agentLabels: [instance, pod], siteLabels: [pod]}\n",
            "siteLabels has 'pod': use a label of your targets",
        ),
        ("_config: {agentLabels: [pod]}\n", "agentLabels must have instance"),
        (
            "_config: {agentLabels: [instance, pod], selector: 'pod=\"a\"'}\n",
            "selector has 'pod': use a label of your targets",
        ),
        ("_config: [\n", "no YAML: "),
    ],
)
def test_a_configuration_that_is_wrong_is_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "site.yml"
    config.write_text(text)

    assert main([str(config), str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{config}: {said}")
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_configuration_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.yml"), str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none.yml'}: No such file or directory\n"
