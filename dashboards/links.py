"""Where a value leads: runbooks, the other dashboards, the agent's own page."""

from collections.abc import Mapping
from typing import NamedTuple

from grafana_foundation_sdk.builders import dashboard as builder
from grafana_foundation_sdk.models import dashboard


def _agent(fields: str) -> str:
    """Address of the agent. `raw`, or Grafana would escape the brackets of an IPv6 address."""
    return f"http://${{{fields}.instance:raw}}"


class Link(NamedTuple):
    """Where a value leads."""

    title: str
    url: str
    blank: bool = False


def runbook(alert: str, fields: str = "__field.labels") -> Link:
    """From a series to the runbook that its agent serves."""
    return Link(f"Runbook {alert}", f"{_agent(fields)}/runbooks/{alert}", blank=True)


def to_board(
    uid: str, title: str, labels: Mapping[str, str], *, fields: str = "__field.labels"
) -> Link:
    """To another dashboard, with the same time, and its variables from labels.

    `labels` maps each variable to the label that it takes. `fields` is `__data.fields` in a
    table, where labels are columns.
    """
    chosen = "".join(
        f"&var-{name}=${{{fields}.{label}:percentencode}}" for name, label in labels.items()
    )
    return Link(title, f"/d/{uid}?${{__url_time_range}}&var-datasource=${{datasource}}{chosen}")


def to_database(fields: str = "__field.labels") -> Link:
    """To the dashboard of one database."""
    labels = {name: name for name in ("job", "instance", "computer", "database")}
    return to_board("esewatch-database", "Open the database", labels, fields=fields)


def to_instance() -> Link:
    """From a series of an instance to the dashboard of its databases."""
    labels = {"computer": "computer", "ese_instance": "ese_instance"}
    return to_board("esewatch-database", "Open its databases", labels)


def to_device(fields: str = "__field.labels") -> Link:
    """To the dashboard of storage, down to one device."""
    labels = {"computer": "computer", "device": "device"}
    return to_board("esewatch-storage", "Open the device", labels, fields=fields)


def to_status_page(fields: str = "__field.labels") -> Link:
    """To what the agent itself says of a database, with its reasons in words."""
    address = (
        f"{_agent(fields)}/database?computer=${{{fields}.computer:percentencode}}"
        f"&database=${{{fields}.database:percentencode}}"
    )
    return Link("Status page", address, blank=True)


def to_computer_page(fields: str = "__field.labels") -> Link:
    """To what the agent itself says of a computer."""
    address = f"{_agent(fields)}/computer?name=${{{fields}.computer:percentencode}}"
    return Link("Status page of the computer", address, blank=True)


def built(link: Link) -> builder.DashboardLink:
    """The link as the dashboard's builder takes it."""
    return (
        builder.DashboardLink(link.title)
        .type(dashboard.DashboardLinkType.LINK)
        .url(link.url)
        .target_blank(link.blank)
    )
