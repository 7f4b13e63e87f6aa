"""The Helm chart: what it renders, what it refuses, and that its rules are those that are shipped.

Without helm most of it is skipped; `scripts/tools deploy` builds one where Go is installed.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from esefiles import __version__
from esewatch.config.files import load
from tests.support.tools import require, skip

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "esewatch"
VALUES = Path(__file__).with_name("helm")
PAGE = ROOT / "docs" / "kubernetes.md"
RELEASE = ("mail", "--namespace", "monitoring", "--kube-version", "1.33")
WITHOUT_KINDS_OF_THE_OPERATOR = (
    "--set=prometheusRule.enabled=false",
    "--set=serviceMonitor.enabled=false",
)
NAMES = ("files", "all", "kafka")
SCHEMAS = ("1.25", "1.37")
"""Of the oldest Kubernetes that the chart is for, and of the newest that the validator has."""


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("helm")
    if program is None:
        skip("helm is not installed (go install helm.sh/helm/v3/cmd/helm@v3.22.0)", {"helm"})
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


def template(name: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """`helm template` with one of the files of values beside this."""
    return helm("template", *RELEASE, CHART, f"--values={VALUES / name}.yml", *options)


def rendered(name: str, *options: str | Path) -> str:
    ended = template(name, *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def objects(name: str, kind: str, *options: str | Path) -> list[Any]:
    return [each for each in yaml.safe_load_all(rendered(name, *options)) if each["kind"] == kind]


def config(name: str, *options: str | Path) -> str:
    """The esewatch.yml that the pod gets."""
    (found,) = objects(name, "ConfigMap", *options)
    text: str = found["data"]["esewatch.yml"]
    return text


@pytest.mark.parametrize("name", NAMES)
def test_helm_lint_finds_nothing(name: str) -> None:
    ended = helm("lint", "--strict", CHART, f"--values={VALUES / name}.yml")

    assert ended.returncode == 0, ended.stdout
    assert set(re.findall(r"^\[(?!INFO)\w+\].*", ended.stdout, re.M)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_golden_manifests(name: str) -> None:
    """The rules are left out: another test holds that they are the files."""
    kept = VALUES / f"{name}.golden"
    text = rendered(name, "--set=prometheusRule.enabled=false")
    if os.environ.get("ESEWATCH_REWRITE_GOLDEN"):
        kept.write_text(text, encoding="utf-8")

    assert text == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("version", SCHEMAS)
@pytest.mark.parametrize("name", NAMES)
def test_the_manifests_keep_the_schemas_of_kubernetes(
    name: str, version: str, tmp_path: Path
) -> None:
    program = shutil.which("kubernetes-validate")
    if program is None:
        skip("kubernetes-validate is not installed (scripts/tools deploy)", {"helm"})
    (tmp_path / "all.yml").write_text(rendered(name, *WITHOUT_KINDS_OF_THE_OPERATOR))

    ended = subprocess.run(
        [program, "--strict", f"--kubernetes-version={version}", tmp_path / "all.yml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (ended.stdout + ended.stderr).count(" passed ") == 6


def shipped_groups() -> Iterator[Any]:
    for folder in ("rules", "alerts"):
        for file in sorted((ROOT / folder).glob("*.yml")):
            yield yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]


def test_prometheus_gets_the_rules_as_they_are_shipped() -> None:
    found = objects("files", "PrometheusRule")

    assert [each["spec"]["groups"] for each in found] == list(shipped_groups())
    names = [each["metadata"]["name"] for each in found]
    assert len(set(names)) == len(names)


def test_the_rules_of_the_site_are_made_of_values(tmp_path: Path) -> None:
    (site,) = (
        each["spec"]
        for each in objects("all", "PrometheusRule")
        if each["metadata"]["name"] == "mail-esewatch-site"
    )
    shipped = yaml.safe_load((ROOT / "rules" / "site" / "site.rules.yml").read_text())
    (tmp_path / "site.yml").write_text(yaml.safe_dump(site))

    ended = subprocess.run(
        [require("promtool"), "check", "rules", tmp_path / "site.yml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    for ours, theirs in zip(site["groups"][0]["rules"], shipped["groups"][0]["rules"], strict=True):
        assert (ours["record"], ours["expr"]) == (theirs["record"], theirs["expr"])
        assert set(ours["labels"]) >= set(theirs["labels"])
    assert site["groups"][0]["rules"][-1]["labels"] == {
        "computer": "old.example.com",
        "site": "north",
    }
    assert template("files", "--set=prometheusRule.links.grafana=https://g").returncode != 0


def test_the_job_is_the_one_that_the_alerts_ask_for_and_a_new_pod_goes_on_with_its_series() -> None:
    for name in ("mail", "other"):
        ended = helm("template", name, *RELEASE[1:], CHART, f"--values={VALUES / 'files.yml'}")
        found = {each["kind"]: each for each in yaml.safe_load_all(ended.stdout)}
        monitor, service = found["ServiceMonitor"], found["Service"]
        host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
        ((relabel, drop),) = (each["relabelings"] for each in monitor["spec"]["endpoints"])

        assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "esewatch"
        assert found["StatefulSet"]["spec"]["serviceName"] == service["metadata"]["name"]
        assert relabel["targetLabel"] == "instance"
        assert relabel["replacement"] == f"$1.{host}:19703"
        assert "pod" in drop["regex"].split("|")


def test_the_configuration_is_taken_by_the_agent_and_its_journal_lies_on_the_volume(
    tmp_path: Path,
) -> None:
    (tmp_path / "esewatch.yml").write_text(
        config("files", "--set=config.policy.min_pages_read=20000000")
    )

    settings = load(tmp_path / "esewatch.yml")

    assert settings.journal == "/var/lib/esewatch/journal.db"
    assert settings.policy.min_pages_read == 20000000


def test_it_reads_what_the_package_of_debian_reads() -> None:
    """But the disks, which are those of a machine. Needs no helm."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    package = yaml.safe_load((ROOT / "deploy" / "esewatch.yml").read_text(encoding="utf-8"))

    assert len(values["config"]["sources"]) == 4
    assert values["config"]["sources"] == [
        source for source in package["sources"] if source["type"] != "disks"
    ]


@pytest.mark.parametrize("name", ["files", "all"])
def test_volumes_of_logs_are_attached_read_only(name: str) -> None:
    """Else the kubelet gives each file to the group of the pod (fsGroup)."""
    extra = 'volumes=[{"name":"snap","csi":{"driver":"snap.example.com"}}]'
    (pods,) = objects(name, "StatefulSet", f"--set-json={extra}")
    spec = pods["spec"]["template"]["spec"]
    volumes = {volume.pop("name"): volume for volume in spec["volumes"]}
    (logs,) = volumes["logs"].values()

    assert spec["securityContext"]["fsGroup"] == 19703
    assert logs["readOnly"] is True
    assert volumes["snap"]["csi"] == {"driver": "snap.example.com", "readOnly": True}


@pytest.mark.parametrize("name", NAMES)
def test_each_example_is_taken_by_the_agent(name: str, tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text(config(name))

    sources = load(tmp_path / "esewatch.yml").sources

    shown = yaml.safe_load((VALUES / f"{name}.yml").read_text()).get("config", {})
    assert [each.type for each in sources][: len(shown.get("sources", ()))] == [
        each["type"] for each in shown.get("sources", ())
    ]
    assert sources


def test_another_configuration_makes_another_pod_and_the_same_one_does_not() -> None:
    def checksum(*options: str) -> str:
        (found,) = objects("files", "StatefulSet", *options)
        text: str = found["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        return text

    assert checksum() == checksum("--set=resources.limits.memory=2Gi")
    assert checksum() != checksum("--set=config.policy.min_pages_read=200")


def test_the_pod_has_the_user_of_the_image_and_no_rights() -> None:
    (found,) = objects("files", "StatefulSet")
    pod = found["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    image = (ROOT / "deploy" / "container" / "Dockerfile").read_text()
    user = pod["securityContext"]["runAsUser"]

    assert f"\nUSER {user}:{pod['securityContext']['runAsGroup']}\n" in image
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert "restartPolicy" not in pod, "Always, which is all that a StatefulSet takes"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    written = [each["mountPath"] for each in container["volumeMounts"] if not each.get("readOnly")]
    assert written == ["/var/lib/esewatch", "/tmp"]


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("--set=image.repository=", "/image/repository"),
        ("--set=imge.tag=1", "imge"),
        ("--set=image.digest=sha256:1", "/image/digest"),
        ("--set=config.journal=/tmp/j", "/config"),
        ("--set-json=config.sources=[]", "/config/sources"),
        ('--set-json=config.sources=[{"path":"/x"}]', "/config/sources/0"),
        ("--set=replicas=2", "each pod would read the same files"),
        ("--set=replicas=0", "/replicas"),
        ("--set-json=networkPolicy.from=[]", "/networkPolicy/from"),
        ("--set-json=networkPolicy.from=[{}]", "/networkPolicy/from/0"),
        ("--set=serviceMonitor.interval=1", "/serviceMonitor/interval"),
        ("--set=serviceMonitor.endpoint.port=x", "/serviceMonitor/endpoint"),
        ("--set=persistence.size=2", "/persistence/size"),
        ("--set=logLevel=loud", "/logLevel"),
        ("--set=prometheusRule.links.runbooks=x", "/prometheusRule/links/runbooks"),
        ('--set-json=prometheusRule.retired=[{"site":"north"}]', "/prometheusRule/retired/0"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(option: str, place: str) -> None:
    ended = template("files", option)

    assert ended.returncode != 0
    assert place in ended.stderr


def test_the_schema_is_one_and_knows_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    jsonschema.Draft7Validator.check_schema(schema)
    # Helm hands in `global` by itself.
    assert set(schema["properties"]) == {*values, "global"}
    for name, value in values.items():
        known = schema["properties"][name]
        if known.get("additionalProperties") is False:
            assert set(known["properties"]) == set(value), name


def test_the_page_explains_every_value() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    page = PAGE.read_text(encoding="utf-8")

    assert [name for name in values if not re.search(rf"`{name}[`.]", page)] == []


def test_the_chart_has_the_version_of_the_agent() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == __version__
