"""New configurations under a running agent while logs grow: nothing is lost, nothing doubled."""

import os
import random
import signal
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import Agent, get, wait_for
from tests.reliability.server import Server
from tests.reliability.test_kill import figures, samples, settings, truth

pytestmark = pytest.mark.e2e

RELOADS = 50
SUCCESSFUL = ("esewatch_config_last_reload_successful", frozenset[tuple[str, str]]())
TIMESTAMP = ("esewatch_config_last_reload_success_timestamp_seconds", frozenset[tuple[str, str]]())
DIRECT = "ese_database_direct_attached"
REFUSED = "the configuration is refused"


def post_reload(agent: Agent) -> tuple[int, str]:
    """What `curl -X POST http://…/-/reload` gets."""
    request = urllib.request.Request(f"{agent.url}/-/reload", method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def write_config(agent: Agent, content: dict[str, Any]) -> None:
    """Change the file that the agent reads, at once."""
    new = agent.config.with_suffix(".new")
    new.write_text(yaml.safe_dump({**content, "journal": str(agent.folder / "journal.db")}))
    new.replace(agent.config)


def some_config(logs: Path, rng: random.Random) -> dict[str, Any]:
    """The server's logs with a source renamed, taken out, added, or all of them built anew."""
    content = settings(logs)
    evtx, json_lines, text, csv = content["sources"]
    text["name"] = rng.choice(("text", "plain", "a longer name"))
    sources = [evtx, text, csv]
    if rng.random() < 0.7:
        sources.append(json_lines)
    rng.shuffle(sources)
    if rng.random() < 0.4:
        # Before the others, so that the names counted by type change too.
        sources.insert(0, {"type": "evtx", "path": f"{logs}/other-*.evtx"})
    content["sources"] = sources
    content["policy"] = {"ratio_high": rng.choice((100, 120))}
    if rng.random() < 0.2:
        content["providers"] = ["MYESEAPP"]
    return content


def reload_often(agent: Agent, logs: Path, rng: random.Random) -> list[bool]:
    """Changes the configuration and asks for it, each way; whether each was taken up."""
    taken = []
    for number in range(RELOADS):
        broken = rng.random() < 0.2
        if broken:
            agent.config.write_text("sources: [{type: evtx, paht: x}]\n")
        elif rng.random() < 0.8:
            write_config(agent, some_config(logs, rng))
        else:
            write_config(agent, settings(logs))
        if number % 2:
            status, answer = post_reload(agent)
            assert status == (500 if broken else 200), answer
        else:
            # The metric may say so already: of one that is refused, the log alone is news.
            before, said = samples(agent), agent.log().count(REFUSED)
            os.kill(agent.pid, signal.SIGHUP)
            wait_for(
                "the answer to SIGHUP",
                lambda before=before, said=said, broken=broken: (  # type: ignore[misc]
                    (now := samples(agent))[SUCCESSFUL] == (not broken)
                    and (broken or now[TIMESTAMP] > before[TIMESTAMP])
                    and agent.log().count(REFUSED) == said + broken
                ),
            )
        taken.append(not broken)
    return taken


def test_fifty_reloads_under_growing_logs_lose_nothing_and_count_nothing_twice(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=705)
    agent = Agent(tmp_path / "agent", settings(logs))
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.01):
            server.tick()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        agent.start()
        taken = reload_often(agent, logs, random.Random(7))
        enough.set()
        writer.join()
        server.finish()
        write_config(agent, settings(logs))
        assert post_reload(agent)[0] == 200
        expected = truth(server)
        wait_for("the true figures", lambda: figures(samples(agent)) == expected)
        agent.stop()
    finally:
        enough.set()
        writer.join()
        agent.close()
    assert True in taken
    assert False in taken
    assert len(expected) > 20
    assert "Traceback" not in agent.log()


@pytest.mark.fault(
    "the configuration is invalid at a reload",
    provoked="a misspelt key",
    lost="nothing: the old one stays, a metric and one line report it",
    again="the next reload",
)
def test_a_wrong_configuration_is_one_line_and_the_old_one_stays(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "agent", {"sources": []})
    try:
        agent.start()
        agent.config.write_text("polcy: {}\n")
        status, answer = post_reload(agent)
        assert status == 500
        assert answer.count("\n") == 1
        assert "polcy" in answer
        assert samples(agent)[SUCCESSFUL] == 0
        write_config(agent, {"sources": []})
        assert post_reload(agent) == (200, "Reloaded.\n")
        assert samples(agent)[SUCCESSFUL] == 1
        assert get(f"{agent.url}/-/ready") == "Ready.\n"
        agent.stop()
    finally:
        agent.close()


def test_databases_and_aliases_hold_at_once_and_a_new_journal_waits_for_a_restart(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=706)
    for _ in range(20):
        server.tick()
    agent = Agent(tmp_path / "agent", settings(logs))
    try:
        agent.start()
        changed = {
            **settings(logs),
            "databases": [{"match": "*", "storage": "das"}],
            "computers": {"EX02.corp.example": "renamed.example"},
        }
        agent.config.write_text(yaml.safe_dump({**changed, "journal": str(tmp_path / "x.db")}))
        assert post_reload(agent)[0] == 200
        values = {value for (name, _), value in samples(agent).items() if name == DIRECT}
        assert values == {1.0}
        for _ in range(20):
            server.tick()
        server.finish()
        wait_for(
            "the alias",
            lambda: any(
                dict(labels).get("computer") == "renamed"
                for name, labels in samples(agent)
                if name == "ese_events_total"
            ),
        )
        agent.stop()
    finally:
        agent.close()
    assert f"journal: {tmp_path / 'x.db'} takes effect at the next start" in agent.log()
    assert not (tmp_path / "x.db").exists()
