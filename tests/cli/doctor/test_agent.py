"""Which command starts, restarts or reloads the daemon of a configuration."""

import argparse
from pathlib import Path

import pytest

from esewatch.cli.doctor import agent
from esewatch.expose.http import DEFAULT_ADDRESS


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The units of the package."""
    unit = tmp_path / "esewatch.service"
    unit.touch()
    monkeypatch.setattr(agent, "UNITS", (str(unit),))


def options(config: str) -> argparse.Namespace:
    return argparse.Namespace(config=config, storage="", address=DEFAULT_ADDRESS, web_config="")


@pytest.mark.parametrize(
    ("config", "unit"),
    [
        ("", "esewatch"),
        ("/etc/esewatch/esewatch.yml", "esewatch"),
        ("/etc/esewatch/site-b.yml", "esewatch@site-b"),
        ("/etc/esewatch/site b;x.yml", "'esewatch@site b;x'"),
    ],
)
def test_the_unit_is_that_of_the_configuration(config: str, unit: str) -> None:
    assert agent.starting(options(config)) == f"systemctl enable --now {unit}"
    assert agent.restarting(options(config)) == f"systemctl restart {unit}"
    assert agent.reloading(options(config)) == f"systemctl reload {unit}"


@pytest.mark.parametrize("config", ["/srv/esewatch.yml", "/etc/esewatch/esewatch.yaml"])
def test_a_configuration_that_no_unit_has_is_run_by_hand(config: str) -> None:
    expected = f"esewatch run --config.file {config}"
    assert agent.starting(options(config)) == agent.restarting(options(config)) == expected
    assert agent.reloading(options(config)).startswith("curl -X POST ")
