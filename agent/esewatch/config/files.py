"""Reading a configuration file, and writing settings back as one."""

import errno
import glob
import math
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import yaml

from esewatch.config import (
    FILE_SUFFIX,
    DatabaseRule,
    Exporter,
    FileSource,
    Kafka,
    PageScan,
    Policy,
    Settings,
    SourceSettings,
)
from esewatch.config.build import Problems, build
from esewatch.config.tree import MAX_BYTES, Node, TreeError, parse, quote
from esewatch.config.units import Scalar
from esewatch.model import ConfigError


def load(path: str | Path) -> Settings:
    """The settings of a file. Relative paths in it start at its folder. Raises ConfigError with one
    line a problem: `esewatch.yml:12: sources[0].tpye: ...`."""
    tree = read_tree(path)
    problems = Problems()
    settings = build(tree, Settings, problems)
    if settings is not msgspec.UNSET:
        check(tree, settings, problems)
    if lines := problems.lines(str(path)):
        raise ConfigError("\n".join(lines))
    return _settled(settings, Path(path).resolve().parent)


def read_tree(path: str | Path) -> Node:
    """The YAML tree of a file. Raises ConfigError, one line: `esewatch.yml:12: ...`."""
    try:
        refuse_named_pipe(path)
        with Path(path).open("rb") as file:
            return parse(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except TreeError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from error


def refuse_named_pipe(path: str | Path) -> None:
    """Raises OSError for a pipe in a folder, whose opening waits for its other end. One that the
    shell made, `/dev/fd/63` or `/dev/stdin`, has its other end."""
    if str(path).startswith(("/dev/", "/proc/")):
        return
    if Path(path).is_fifo():
        raise OSError(errno.EINVAL, "it is a pipe, not a file", str(path))


def dump(settings: Settings) -> str:
    """The effective settings as YAML that `load` reads back; absent where nothing is set."""
    return yaml.safe_dump(_plain(settings, Settings), sort_keys=False, allow_unicode=True)


def dump_keys(rule: DatabaseRule, keys: Collection[str]) -> str:
    """These keys of an entry of `databases`, as far as they are set, on one line without braces."""
    plain = _plain(rule, DatabaseRule)
    entry = {key: value for key, value in plain.items() if key in keys}
    line = yaml.safe_dump(
        entry, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf
    )
    return str(line).strip()[1:-1]


def _settled(settings: Settings, folder: Path) -> Settings:
    """The same with names for all sources and absolute paths."""
    glob_root = Path(glob.escape(str(folder)))
    sources: list[SourceSettings] = []
    for source, name in zip(settings.sources, source_names(settings.sources), strict=True):
        named = msgspec.structs.replace(source, name=name)
        if isinstance(named, FileSource):
            paths = [str(glob_root / path) for path in named.paths]
            named = msgspec.structs.replace(named, paths=paths)
            if isinstance(named, PageScan):
                logs = [str(glob_root / path) for path in named.logs]
                named = msgspec.structs.replace(named, logs=logs)
        elif isinstance(named, Exporter):
            named = _settled_exporter(named, folder)
        elif isinstance(named, Kafka):
            # Paths of the files that have values; librdkafka's own paths stay as they are.
            files = {key: at for key, at in named.client.items() if key.endswith(FILE_SUFFIX)}
            whole = {key: str(folder / at) for key, at in files.items() if isinstance(at, str)}
            named = msgspec.structs.replace(named, client=named.client | whole)
        sources.append(named)
    return msgspec.structs.replace(
        settings, sources=sources, journal=str(folder / settings.journal)
    )


def _settled_exporter(source: Exporter, folder: Path) -> Exporter:
    ca_file, login = source.ca_file, source.basic_auth
    if ca_file is not None:
        ca_file = str(folder / ca_file)
    if login is not None:
        password_file = str(folder / login.password_file)
        login = msgspec.structs.replace(login, password_file=password_file)
    return msgspec.structs.replace(source, ca_file=ca_file, basic_auth=login)


def _plain(value: Any, hint: Any) -> Any:
    """`value` of the type `hint` as dicts, lists and scalars for YAML."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(value, msgspec.Struct):
        hints = get_type_hints(type(value), include_extras=True)
        fields = msgspec.structs.fields(value)
        items = ((field, getattr(value, field.name)) for field in fields)
        return {
            field.encode_name: _plain(item, hints[field.name])
            for field, item in items
            if item not in (None, [], {}, "")
        }
    if isinstance(value, list):
        return [_plain(item, args[0]) for item in value]
    if origin is dict:
        return {key: _plain(item, args[1]) for key, item in value.items()}
    if origin is Annotated and isinstance(args[1], Scalar):
        return args[1].show(value)
    if origin is Annotated:
        hints = get_type_hints(args[1], include_extras=True)
        return {name: _plain(item, hints[name]) for name, item in value.items()}
    inner = next((arg for arg in args if get_origin(arg) is Annotated), None)
    return value if inner is None else _plain(value, inner)


def check(tree: Node, settings: Settings, problems: Problems) -> None:
    """Add the problems that no single key shows. `settings` were built from `tree`."""
    _sources(tree, settings, problems)
    _windows(tree, settings, problems)
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


_LISTS = ("path", "paths", "brokers", "topics")
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
"""Keys of a client of Kafka that are not the user's."""
_SECRET_ENDS = ("password", "client.secret", "key.pem", "sasl.oauthbearer.config")


def _sources(tree: Node, settings: Settings, problems: Problems) -> None:
    names = source_names(settings.sources)
    nodes = _items(tree, "sources")
    for number, (node, source) in enumerate(zip(nodes, settings.sources, strict=True)):
        if (name := names[number]) in names[:number]:
            problems.of(node, f"{quote(name)} names two sources", ".name")
        if isinstance(source, Kafka) and not _names_a_file(source.name):
            allowed = "a part of a file name, as each partition has a journal of that name"
            problems.of(node, f"found {quote(source.name)}, allowed: {allowed}", ".name")
        for key in _LISTS:
            _not_empty(_child(node, key), problems)
        for key, value in _entries(node, "client"):
            if key in _OWN_KEYS:
                problems.of(value, f"not allowed here: {_OWN_KEYS[key]}")
            elif key.endswith(_SECRET_ENDS):
                instead = f"{key}_file names a file that begins with it"
                problems.of(value, f"a secret is not allowed here: {instead}")
        logs = _child(node, "logs")
        if logs is not None and isinstance(source, PageScan) and source.check == "pages":
            problems.of(logs, "is used only with check: recovery or check: deep")


def _names_a_file(name: str) -> bool:
    """As a part: 255 bytes are all of a name."""
    barred = '/\\:*?"<>|' if sys.platform == "win32" else "/"
    return not set(name) & set(barred) and len(name.encode()) <= 128


def _not_empty(node: Node | None, problems: Problems) -> None:
    if node is not None and node.value == []:
        problems.of(node, "found an empty list, allowed: one item or more")


def _windows(tree: Node, settings: Settings, problems: Problems) -> None:
    for _, node in _entries(tree, "windows"):
        _not_empty(_child(node, "days"), problems)
    for node in (*_items(tree, "sources"), *_items(tree, "databases")):
        window = _child(node, "window")
        if window is not None and window.value is not None and window.value not in settings.windows:
            problems.at(window, ", ".join(settings.windows) or "a name under windows (none there)")


def _pools(tree: Node, problems: Problems) -> None:
    for node in _items(tree, "databases"):
        device = _child(node, "device")
        if device is not None and device.value == "<its disk>":  # as `doctor` prints it
            problems.at(device, "the number or name of its disk")
    seen: dict[str, str] = {}
    for pool, node in _entries(tree, "pools"):
        for device in node.value if isinstance(node.value, list) else [node]:
            if isinstance(device.value, str):
                other = seen.setdefault(device.value, pool)
                if other != pool:
                    problems.of(device, f"{device.found()} is in pool {quote(other)} too")


def _aliases(tree: Node, problems: Problems) -> None:
    """Computer names have no case; an alias leads to a name, not to a further alias."""
    seen: dict[str, str] = {}
    for alias, node in _entries(tree, "computers"):
        if (other := seen.setdefault(alias.lower(), alias)) != alias:
            problems.of(node, f"the same alias as {quote(other)}")
    for _, node in _entries(tree, "computers"):
        if isinstance(node.value, str) and node.value.lower() in seen:
            problems.of(node, f"{node.found()} is an alias itself")


def _policies(tree: Node, settings: Settings, problems: Problems) -> None:
    general = _child(tree, "policy")
    if general is not None:
        _ratios(general, settings.policy, problems)
    for node, rule in zip(_items(tree, "databases"), settings.databases, strict=True):
        policy = _child(node, "policy")
        if policy is not None and rule.policy:
            if (silent := _child(policy, "silent_after")) is not None:
                problems.of(silent, "is of computers, not of databases: write it under policy")
            _ratios(policy, msgspec.structs.replace(settings.policy, **rule.policy), problems)


def _ratios(node: Node, policy: Policy, problems: Problems) -> None:
    low, high = policy.ratio_low, policy.ratio_high
    if low >= high:
        problems.of(node, f"ratio_low {low:g} is not below ratio_high {high:g}")


def _child(node: Node, key: str) -> Node | None:
    return node.value.get(key) if isinstance(node.value, dict) else None


def _items(tree: Node, key: str) -> list[Node]:
    node = _child(tree, key)
    return node.value if node is not None and isinstance(node.value, list) else []


def _entries(tree: Node, key: str) -> list[tuple[str, Node]]:
    node = _child(tree, key)
    return list(node.value.items()) if node is not None and isinstance(node.value, dict) else []
