"""`make demo-stack`: the demo with a Prometheus and an Alertmanager that have the shipped rules.

    python -m tests.support.demo_stack [options of `esewatch demo`]

Rules and alerts are not part of the installed program, so this is no option of the command.
Both servers listen on this machine only and write into the demo's folder.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

from eselab.base.command_line import done
from eselab.demo.__main__ import command_line
from eselab.demo.agent import DemoError, choose_address, local_url
from eselab.demo.run import Extra, run
from tests.dashboards.boards import metrics
from tests.rules.quality import backfill
from tests.support.tools import find

ROOT = Path(__file__).resolve().parents[2]
RULES = sorted([*(ROOT / "rules").glob("*.yml"), *(ROOT / "alerts").glob("*.yml")])
EXAMPLE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
RETENTION = "60d"
LOADED = 15 * 86400.0
"""Seconds of the past that Prometheus is given."""
BOARDS = ("esewatch-fleet", "esewatch-database")
"""The dashboards whose panels have a past, by uid."""
SECONDS = "2s"
"""Between two scrapes and two evaluations: the windows of the demo are seconds, not hours."""


def alertmanager(folder: Path) -> Extra:
    """The shipped example without its receivers' addresses: alerts are shown, not sent."""
    config = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    config["receivers"] = [{"name": receiver["name"]} for receiver in config["receivers"]]
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    address = choose_address(None, "127.0.0.1:9093")
    command = [
        program("alertmanager"),
        f"--config.file={file}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    return Extra("alertmanager", command, f"{local_url(address)}/")


def prometheus(folder: Path, agent: str, alerts: Extra) -> Extra:
    """Scrapes the agent (host:port) and evaluates the shipped rules, both each 2 s."""
    for source in RULES:
        rules = yaml.safe_load(source.read_text(encoding="utf-8"))
        for group in rules["groups"]:
            group["interval"] = SECONDS
        (folder / source.name).write_text(yaml.safe_dump(rules), encoding="utf-8")
    config = {
        "global": {"scrape_interval": SECONDS, "evaluation_interval": SECONDS},
        "rule_files": [source.name for source in RULES],
        "scrape_configs": [
            {"job_name": "esewatch", "static_configs": [{"targets": [target(local_url(agent))]}]}
        ],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [target(alerts.url)]}]}]},
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    address = choose_address(None, "127.0.0.1:9090")
    command = [
        program("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--storage.tsdb.retention.time={RETENTION}",
        f"--web.listen-address={address}",
    ]
    loading = ["--load", str(folder), "--instance", target(local_url(agent))]
    first = shlex.join([sys.executable, "-m", "tests.support.demo_stack", *loading])
    shell = ["sh", "-c", f"cd {shlex.quote(str(ROOT))} && {first} && exec {shlex.join(command)}"]
    return Extra("prometheus", shell, f"{local_url(address)}/")


def load(folder: Path, instance: str) -> None:
    """Put the last days of the demo's logs into the Prometheus of its folder, as blocks.

    What the dashboards ask for, and what rules record of it, with the labels of the target
    `instance`: past and present are one series. Raises DemoError.
    """
    asked = metrics(*BOARDS)
    logs = [*folder.rglob("events.jsonl"), *folder.rglob("counters.csv")]
    end = time.time()
    start = datetime.fromtimestamp(end - LOADED, UTC)
    past, data = folder / "past", folder / "prometheus"
    past.mkdir()
    replay = [
        *(sys.executable, "-m", "esewatch", "replay", *map(str, sorted(logs))),
        *("--config.file", str(folder / "esewatch.yml"), "--start", f"{start:%Y-%m-%d}"),
        *("--match", "|".join(sorted(backfill.unrecorded(asked)))),
        *("-o", str(past / "past.om")),
    ]
    # 1: something is wrong with a database, as it should be here.
    if subprocess.run(replay, check=False).returncode > 1:
        raise DemoError(f"{folder}: the past could not be replayed")
    own = f'job="esewatch",instance="{instance}"'
    for told in sorted(past.glob("*.om")):
        file = told.with_suffix(".labelled")
        with told.open() as lines, file.open("w") as labelled:
            for line in lines:
                at = 0 if line.startswith("#") else line.find("{") + 1
                if not at:
                    labelled.write(line)
                else:
                    comma = "" if line[at] == "}" else ","
                    labelled.write(f"{line[:at]}{own}{comma}{line[at:]}")
        backfill.load(file, data)
        told.unlink()
        file.unlink()
    backfill.record(past, data, end - LOADED, end, asked)
    shutil.rmtree(past)


def target(url: str) -> str:
    """`host:port` of an address."""
    return url.removeprefix("http://").rstrip("/")


def program(name: str) -> str:
    """Path of a program. Raises DemoError where it is not installed."""
    path = find(name)
    if path is None:
        raise DemoError(f"{name} is not installed: `make tools` installs it on Debian")
    return path


def extras(folder: Path, agent: str) -> Sequence[Extra]:
    """Both, for the demo."""
    alerts = alertmanager(folder)
    return prometheus(folder, agent, alerts), alerts


def main(words: Sequence[str]) -> int:
    """Run the demo with both; returns its exit status."""
    parser = command_line()
    parser.prog, parser.description, parser.epilog = "demo-stack", "The demo with Prometheus.", None
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--instance", default="", help=argparse.SUPPRESS)
    parser.set_defaults(function=_load_or_run)
    return done(parser, words, "demo-stack", (DemoError,))


def _load_or_run(options: argparse.Namespace) -> int:
    if options.load is not None:
        load(options.load, options.instance)
        return 0
    for name in ("prometheus", "promtool", "alertmanager"):
        program(name)
    return run(options, extras)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
