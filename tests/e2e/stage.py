"""Agent, Prometheus, Alertmanager and the receiver of its messages, joined to each other."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.harness import (
    Agent,
    Prometheus,
    Webhook,
    start_agent,
    start_alertmanager,
    start_prometheus,
    start_webhook,
)


class Site(NamedTuple):
    """All servers of one test."""

    agent: Agent
    prometheus: Prometheus
    webhook: Webhook

    def told(self) -> set[tuple[str, str, str]]:
        """(alert, severity, database) of all that was sent to a person so far."""
        labels = [alert["labels"] for alert in self.webhook.alerts(status="firing")]
        return {
            (each["alertname"], each["severity"], each.get("database", ""))
            for each in labels
            if each["alertname"] != "Watchdog"
        }


class Stage:
    """Starts the servers of a test; they end with it. `prometheus`: path of the program."""

    def __init__(self, folder: Path, stack: ExitStack, prometheus: str) -> None:
        self._prometheus = prometheus
        self._folder = folder
        self._stack = stack

    def start(self, *sources: dict[str, Any], faster: float = 1.0, **settings: Any) -> Site:
        """The agent reads `sources`; `faster` as start_prometheus has it."""
        enter = self._stack.enter_context
        webhook = enter(start_webhook())
        alertmanager = enter(start_alertmanager(self._folder / "alertmanager", webhook))
        agent = enter(start_agent(self._folder / "agent", {"sources": list(sources), **settings}))
        folder, targets, program = self._folder / "prometheus", [agent.address], self._prometheus
        prometheus = enter(start_prometheus(folder, targets, alertmanager, faster, program=program))
        return Site(agent, prometheus, webhook)
