"""The files of the Debian package that are not built."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from esewatch import cli

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "deploy" / "debian"


@pytest.mark.parametrize(
    "script", [DEBIAN / "postinst", DEBIAN / "prerm", DEBIAN / "postrm", ROOT / "scripts" / "deb"]
)
def test_a_script_is_one_of_a_plain_shell(script: Path) -> None:
    ended = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)

    assert script.read_text().splitlines()[0] == "#!/bin/sh"
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_shipped_prometheus_has_the_job_that_the_alerts_expect() -> None:
    settings = yaml.safe_load((DEBIAN / "prometheus.yml").read_text())

    assert [job["job_name"] for job in settings["scrape_configs"]] == ["esewatch"]
    assert settings["rule_files"] == [
        "/usr/share/esewatch/rules/*.yml",
        "/usr/share/esewatch/alerts/*.yml",
    ]


def test_the_example_of_options_is_taken_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DEBIAN / "default").read_text()
    example = shlex.split(text.partition('ARGS="')[2].partition('"')[0])

    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--config.file", str(tmp_path / "none.yml"), *example, "--help"])

    assert example[0] in capsys.readouterr().out
    assert ended.value.code == 0
