"""Checks across several keys: names that must resolve, be unique, or agree."""

import sys
from collections import Counter
from collections.abc import Sequence

import msgspec

from esewatch.config.build import Problems
from esewatch.config.settings import Kafka, PageScan, Policy, Settings, SourceSettings
from esewatch.config.tree import Node, quote


def check(tree: Node, settings: Settings, problems: Problems) -> None:
    """Add the problems that no single key shows. `settings` were built from `tree`."""
    _source_names(tree, settings, problems)
    _not_empty(tree, problems)
    _client_keys(tree, problems)
    _window_names(tree, settings, problems)
    _logs_of_copies(tree, settings, problems)
    _pools(tree, problems)
    _aliases(tree, problems)
    _policies(tree, settings, problems)


def source_names(sources: Sequence[SourceSettings]) -> list[str]:
    """The name of each; one without a name has its type and its number among those of the type."""
    counts: Counter[str] = Counter()
    names = []
    for source in sources:
        counts[source.type] += 1
        names.append(source.name or f"{source.type}-{counts[source.type]}")
    return names


def _source_names(tree: Node, settings: Settings, problems: Problems) -> None:
    seen: set[str] = set()
    for node, name in zip(_items(tree, "sources"), source_names(settings.sources), strict=True):
        if name in seen:
            problems.add(node.line, f"{node.place}.name", f"{quote(name)} names two sources")
        seen.add(name)
    for node, source in zip(_items(tree, "sources"), settings.sources, strict=True):
        if isinstance(source, Kafka) and not _names_a_file(source.name):
            problems.add(
                node.line,
                f"{node.place}.name",
                f"found {quote(source.name)}, allowed: a part of a file name, as each partition"
                " has a journal of that name",
            )


def _names_a_file(name: str) -> bool:
    """As a part: 255 bytes are all of a name."""
    barred = '/\\:*?"<>|' if sys.platform == "win32" else "/"
    return not set(name) & set(barred) and len(name.encode()) <= 128


_LISTS = ("path", "paths", "brokers", "topics")


def _not_empty(tree: Node, problems: Problems) -> None:
    """A source has a path (a broker, a topic) and a window has a day."""
    sources = [_child(node, key) for node in _items(tree, "sources") for key in _LISTS]
    windows = [_child(node, "days") for _, node in _entries(tree, "windows")]
    for node in (*sources, *windows):
        if node is not None and node.value == []:
            problems.add(node.line, node.place, "found an empty list, allowed: one item or more")


_OWN_KEYS = {
    "bootstrap.servers": "write it under brokers",
    "metadata.broker.list": "write it under brokers",
    "group.id": "write it under group",
    "partition.assignment.strategy": "esewatch sets it",
    "enable.auto.commit": "esewatch sets it: positions lie in the journals",
    "enable.auto.offset.store": "esewatch sets it: positions lie in the journals",
    "auto.offset.reset": "esewatch sets it: a lost position is reported, never skipped",
    "enable.partition.eof": "esewatch sets it",
    "isolation.level": "esewatch sets it",
}
_SECRET_ENDS = ("password", "client.secret", "key.pem", "sasl.oauthbearer.config")


def _client_keys(tree: Node, problems: Problems) -> None:
    """Keys of a client of Kafka that are not the user's, and secrets that stand in the file."""
    for source in _items(tree, "sources"):
        for key, node in _entries(source, "client"):
            if key in _OWN_KEYS:
                problems.add(node.line, node.place, f"not allowed here: {_OWN_KEYS[key]}")
            elif key.endswith(_SECRET_ENDS):
                problems.add(
                    node.line,
                    node.place,
                    f"a secret is not allowed here: {key}_file names a file that begins with it",
                )


def _logs_of_copies(tree: Node, settings: Settings, problems: Problems) -> None:
    for node, source in zip(_items(tree, "sources"), settings.sources, strict=True):
        logs = _child(node, "logs")
        if logs is not None and isinstance(source, PageScan) and source.check == "pages":
            problems.add(logs.line, logs.place, "is used only with check: recovery or check: deep")


def _window_names(tree: Node, settings: Settings, problems: Problems) -> None:
    for node in (*_items(tree, "sources"), *_items(tree, "databases")):
        window = _child(node, "window")
        if window is not None and window.value is not None and window.value not in settings.windows:
            problems.at(window, ", ".join(settings.windows) or "a name under windows (none there)")


def _pools(tree: Node, problems: Problems) -> None:
    """A device belongs to one pool."""
    seen: dict[str, str] = {}
    for pool, node in _entries(tree, "pools"):
        devices = node.value if isinstance(node.value, list) else [node]
        for device in devices:
            if not isinstance(device.value, str):
                continue
            other = seen.setdefault(device.value, pool)
            if other != pool:
                problems.add(
                    device.line, device.place, f"{device.found()} is in pool {quote(other)} too"
                )


def _aliases(tree: Node, problems: Problems) -> None:
    """Computer names have no case; an alias leads to a name, not to a further alias."""
    seen: dict[str, str] = {}
    for alias, node in _entries(tree, "computers"):
        if (other := seen.setdefault(alias.lower(), alias)) != alias:
            problems.add(node.line, node.place, f"the same alias as {quote(other)}")
    for _, node in _entries(tree, "computers"):
        if isinstance(node.value, str) and node.value.lower() in seen:
            problems.add(node.line, node.place, f"{node.found()} is an alias itself")


def _policies(tree: Node, settings: Settings, problems: Problems) -> None:
    general = _child(tree, "policy")
    if general is not None:
        _ratios(general, settings.policy, problems)
    for node, rule in zip(_items(tree, "databases"), settings.databases, strict=True):
        policy = _child(node, "policy")
        if policy is not None and rule.policy:
            _only_general(policy, problems)
            _ratios(policy, msgspec.structs.replace(settings.policy, **rule.policy), problems)


def _only_general(policy: Node, problems: Problems) -> None:
    silent = _child(policy, "source_silent")
    if silent is not None:
        problems.add(
            silent.line, silent.place, "is of sources, not of databases: write it under policy"
        )


def _ratios(node: Node, policy: Policy, problems: Problems) -> None:
    if policy.ratio_low >= policy.ratio_high:
        problems.add(
            node.line,
            node.place,
            f"ratio_low {policy.ratio_low:g} is not below ratio_high {policy.ratio_high:g}",
        )


def _child(node: Node, key: str) -> Node | None:
    return node.value.get(key) if isinstance(node.value, dict) else None


def _items(tree: Node, key: str) -> list[Node]:
    node = _child(tree, key)
    return node.value if node is not None and isinstance(node.value, list) else []


def _entries(tree: Node, key: str) -> list[tuple[str, Node]]:
    node = _child(tree, key)
    return list(node.value.items()) if node is not None and isinstance(node.value, dict) else []
