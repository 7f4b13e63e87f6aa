"""The compose stack, read: hardened, pinned, and each file where the programs look for it."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from esefiles import __version__
from eselab.base.profiles import PROFILES
from esewatch.config.files import load
from tests.dashboards.boards import loaded
from tests.deploy.stack import COMPOSE, CONTAINER, ROOT, compose, mounted, mounts, option, services
from tests.support.tools import require, skip

SERVICES = {"engine", "agent", "prometheus", "alertmanager", "grafana"}
EXAMPLE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"


def yaml_of(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_compose_spec_takes_the_file() -> None:
    program = shutil.which("compose-spec")
    if program is None:
        skip(
            "compose-spec is not installed (go install "
            "github.com/compose-spec/compose-go/v2/cmd@v2.16.2, named compose-spec)",
            {"compose-spec"},
        )

    ended = subprocess.run(
        [program, "-no-interpolation", str(COMPOSE)], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
    assert set(yaml.safe_load(ended.stdout)["services"]) == SERVICES


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_service_is_hardened_limited_and_asked_for_its_health(name: str) -> None:
    service = services()[name]
    limits = service["deploy"]["resources"]["limits"]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert set(limits) == {"cpus", "memory", "pids"}
    assert service["restart"] == "always"


def test_each_image_has_a_tag_that_does_not_move() -> None:
    tags = {name: each["image"].rpartition(":")[2] for name, each in services().items()}

    assert set(tags) == SERVICES
    assert all(re.fullmatch(r"v?\d+\.\d+\.\d+", tag) for tag in tags.values()), tags
    assert tags["agent"] == tags["engine"] == __version__


def test_ports_are_open_on_this_machine_only() -> None:
    ports = [port for each in services().values() for port in each.get("ports", [])]

    assert len(ports) == 4
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert services()["engine"]["network_mode"] == "none"
    assert "network_mode" not in services()["agent"]


def test_no_file_of_the_stack_has_a_password() -> None:
    texts = [file.read_text(encoding="utf-8") for file in CONTAINER.rglob("*") if file.is_file()]
    given = [
        value
        for text in texts
        for value in re.findall(r"(?i)\w*(?:password|token|secret)\w*[:=] *(\S+)", text)
    ]

    assert len(given) == 2
    assert [
        value for value in given if not value.startswith(("${GRAFANA_ADMIN_PASSWORD:?", "..."))
    ] == []


def test_who_is_not_logged_in_may_look_and_nothing_else() -> None:
    settings = services()["grafana"]["environment"]

    assert settings["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert settings["GF_USERS_ALLOW_SIGN_UP"] == "false"
    assert settings["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_ADMIN_PASSWORD:?")


def test_what_is_mounted_is_there_and_read_only_and_volumes_are_declared() -> None:
    volumes = set()
    for name, service in services().items():
        for source, target, read_only in mounts(service):
            if source.startswith("."):
                assert (CONTAINER / source).exists(), f"{name}: {source}"
                assert read_only, f"{name}: {target}"
            else:
                volumes.add(source)

    assert volumes == set(compose()["volumes"])


def test_the_agent_is_built_without_the_engine_and_prometheus_does_not_wait_for_old_logs() -> None:
    """docs/containers.md takes the engine out; `/-/ready` is 503 until the first reading ends."""
    agent = services()["agent"]

    assert agent["build"]["dockerfile"] == "deploy/container/Dockerfile"
    assert services()["prometheus"]["depends_on"]["agent"]["condition"] == "service_healthy"
    assert re.findall(r"'(/-/\w+)'", agent["healthcheck"]["test"][-1]) == ["/-/healthy"]


def test_prometheus_keeps_what_the_rules_look_back() -> None:
    texts = [file.read_text(encoding="utf-8") for file in sorted((ROOT / "rules").glob("*.yml"))]
    ranges = [int(days) for text in texts for days in re.findall(r"\[(\d+)d[:\]]", text)]

    assert max(ranges) == 30
    assert not [text for text in texts if re.search(r"offset \d+d", text)]
    kept = option(services()["prometheus"], "storage.tsdb.retention.time")
    assert int(kept.removesuffix("d")) > max(ranges)


def test_the_agent_reads_what_the_engine_writes_and_cannot_change_it() -> None:
    engine, agent = services()["engine"], services()["agent"]
    written = {source: target for source, target, read_only in mounts(engine) if not read_only}
    read = {source: target for source, target, read_only in mounts(agent) if read_only}
    (shared,) = set(written) & set(read)
    folder = engine["command"][engine["command"].index("--dir") + 1]
    settings = load(mounted(agent, "/etc/esewatch/esewatch.yml"))
    seen = folder.replace(written[shared], read[shared], 1)

    assert engine["user"] == agent["user"] == "19703:19703"
    assert engine["image"] == agent["image"]
    assert [path for each in settings.sources for path in getattr(each, "paths", [])] == [
        f"{seen}/*.jsonl",
        f"{seen}/*.csv",
    ]
    assert settings.journal.startswith("/var/lib/esewatch/")


def test_the_agent_knows_the_databases_that_the_engine_has() -> None:
    command = services()["engine"]["command"]
    plan = PROFILES[command[command.index("--profile") + 1]]()
    rules = load(CONTAINER / "esewatch.yml").databases

    assert [rule.name for rule in rules] == [database.name for database in plan.databases]
    shared = [database.name for database in plan.databases if database.device == "disk-2"]
    assert [rule.name for rule in rules if rule.device] == shared


def test_prometheus_takes_its_configuration_with_all_rules_and_alerts(tmp_path: Path) -> None:
    prometheus = services()["prometheus"]
    source = mounted(prometheus, option(prometheus, "config.file"))
    shutil.copy(source, tmp_path / "prometheus.yml")
    for name in ("rules", "alerts", "site.rules.yml"):
        (tmp_path / name).symlink_to(mounted(prometheus, f"/etc/prometheus/{name}"))

    ended = subprocess.run(
        [require("promtool"), "check", "config", str(tmp_path / "prometheus.yml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    files = [*(ROOT / "rules").glob("*.yml"), *(ROOT / "alerts").glob("*.yml")]
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{len(files) + 1} rule files found" in ended.stdout


def test_prometheus_scrapes_the_agent_and_tells_alertmanager() -> None:
    config = yaml_of(CONTAINER / "prometheus.yml")
    (job,) = config["scrape_configs"]
    ((target,),) = (each["targets"] for each in job["static_configs"])
    ((alerts,),) = (
        each["targets"] for each in config["alerting"]["alertmanagers"][0]["static_configs"]
    )

    assert job["job_name"] == "esewatch"
    assert target == f"agent:{services()['agent']['ports'][0].rpartition(':')[2]}"
    assert alerts == f"alertmanager:{services()['alertmanager']['ports'][0].rpartition(':')[2]}"
    # Links of alerts and dashboards lead where a browser of this machine can go.
    assert f"{job['static_configs'][0]['labels']['instance']}:19703" in services()["agent"]["ports"]
    site = CONTAINER / "site.rules.yml"
    (links,) = (rule["labels"] for rule in yaml_of(site)["groups"][0]["rules"])
    assert f"{links['grafana'].removeprefix('http://')}:3000" in services()["grafana"]["ports"]
    assert links["runbooks"] == "http://127.0.0.1:19703/runbooks"
    assert config["rule_files"][0] == site.name


def test_alertmanager_takes_its_configuration_the_example_without_addresses() -> None:
    file = mounted(services()["alertmanager"], option(services()["alertmanager"], "config.file"))
    ours, example = yaml_of(file), yaml_of(EXAMPLE)

    ended = subprocess.run(
        [require("amtool"), "check-config", str(file)], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {key: ours[key] for key in ours if key != "receivers"} == {
        key: example[key] for key in example if key not in {"global", "templates", "receivers"}
    }
    assert ours["receivers"] == [{"name": each["name"]} for each in example["receivers"]]


def test_grafana_is_given_prometheus_and_the_dashboards() -> None:
    grafana = services()["grafana"]
    provisioning = "/etc/grafana/provisioning"
    (source,) = yaml_of(mounted(grafana, f"{provisioning}/datasources/prometheus.yml"))[
        "datasources"
    ]
    (provider,) = yaml_of(mounted(grafana, f"{provisioning}/dashboards/esewatch.yml"))["providers"]
    folder = mounted(grafana, provider["options"]["path"])
    boards = loaded()

    assert {source["type"], source["access"], source["url"]} == {
        "prometheus", "proxy", "http://prometheus:9090",
    }  # fmt: skip
    assert source["isDefault"] is True
    assert (
        source["jsonData"]["timeInterval"]
        == (yaml_of(CONTAINER / "prometheus.yml")["global"]["scrape_interval"])
    )
    assert provider["type"] == "file"
    assert {board["uid"] for board in boards} == {path.stem for path in folder.glob("*.json")}
    # They name their data source by a variable of its type: the default one is taken.
    assert {board["templating"]["list"][0]["query"] for board in boards} == {source["type"]}
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert mounted(grafana, home).exists()
