"""Reading a configuration file, and writing settings back as one."""

import errno
import glob
import math
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import yaml

from esewatch.config.build import Problems, build
from esewatch.config.check import check, source_names
from esewatch.config.settings import (
    FILE_SUFFIX,
    DatabaseRule,
    Disks,
    Exporter,
    FileSource,
    Kafka,
    PageScan,
    Settings,
    SourceSettings,
    WindowsCounters,
    WindowsLog,
)
from esewatch.config.tree import MAX_BYTES, Node, TreeError, parse
from esewatch.config.units import Scalar
from esewatch.model import ConfigError


def load(path: str | Path) -> Settings:
    """The settings of a file. Relative paths in it start at its folder.

    Raises ConfigError with one line a problem: `esewatch.yml:12: sources[0].tpye: ...`.
    """
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
    """Raises OSError for a pipe in a folder, whose opening waits for its other end.

    One that the shell made, `/dev/fd/63` or `/dev/stdin`, has its other end.
    """
    if str(path).startswith(("/dev/", "/proc/")):
        return
    if Path(path).is_fifo():
        raise OSError(errno.EINVAL, "it is a pipe, not a file", str(path))


def default_settings(platform: str = sys.platform) -> Settings:
    """The settings without a file: the sources of this machine, default policy."""
    sources: list[SourceSettings] = [Disks(type="disks", name="disks-1")]
    if platform == "win32":
        sources += [
            WindowsLog(type="windows_log", name="windows_log-1"),
            WindowsCounters(type="windows_counters", name="windows_counters-1"),
        ]
    return Settings(sources=sources)


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
            named = msgspec.structs.replace(named, client=_settled_client(named.client, folder))
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


def _settled_client(client: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """With whole paths of the files that have values; librdkafka's own paths stay as they are."""
    return {
        key: str(folder / value) if key.endswith(FILE_SUFFIX) and isinstance(value, str) else value
        for key, value in client.items()
    }


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
