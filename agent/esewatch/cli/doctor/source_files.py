"""Checks of the files of a source: existence, access of the daemon's account, zone, language."""

import glob
import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from esefiles.base.globs import matches
from esewatch.config import FileSource
from esewatch.ese.counters.counter_names import object_kind
from esewatch.expose.pages.problems.problem import Problem, listed_names, quoted
from esewatch.expose.pages.problems.problems import LOGMAN
from esewatch.model import SourceError
from esewatch.sources.counters.pdh_clock import contradicted
from esewatch.sources.files.decoder import NO_ZONE
from esewatch.sources.files.follow import sniff
from esewatch.sources.kind import Described
from esewatch.sources.registry import describe

ACCOUNT = "esewatch"
"""The account of the package, where no journal shows another."""
SECONDS = 5.0
_TEST = 'for c; do [ -"${c%%:*}" "${c#*:}" ] && printf 1 || printf 0; done'

Right = tuple[str, str]
"""`r`, `w` or `x`, and the path that it is asked of."""


class Account(NamedTuple):
    """The account for the checks: `uid` is None for the account that runs this command."""

    name: str
    uid: int | None = None
    gid: int = 0
    groups: tuple[int, ...] = ()


def account_of(journal: Path) -> Account:
    """The account that the daemon runs as, as far as that is known and can be taken. Root asks for
    the owner of the journal, else for `esewatch`; anybody else for themselves."""
    if os.name == "nt":
        return Account(os.environ.get("USERNAME", "ACCOUNT"))
    import pwd  # noqa: PLC0415 - exists on POSIX only

    def named(uid: int) -> str:
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    if os.geteuid() != 0:
        return Account(named(os.geteuid()))
    try:
        uid = journal.stat().st_uid
        found = pwd.getpwuid(uid)
    except (OSError, KeyError):
        try:
            found = pwd.getpwnam(ACCOUNT)
        except KeyError:
            return Account("root")
    if found.pw_uid == 0:
        return Account("root")
    groups = tuple(os.getgrouplist(found.pw_name, found.pw_gid))
    return Account(found.pw_name, found.pw_uid, found.pw_gid, groups)


def missing_rights(account: Account, rights: Sequence[Right]) -> list[Right]:
    """Missing access rights. Raises OSError, subprocess.SubprocessError where they are unknown."""
    if account.uid is None or not rights:
        modes = {"r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
        return [(mode, path) for mode, path in rights if not os.access(path, modes[mode])]
    # The kernel knows about lists, masks and mounts; so it is asked, as that account.
    answer = subprocess.run(
        ["/bin/sh", "-c", _TEST, "sh", *(f"{mode}:{path}" for mode, path in rights)],
        user=account.uid,
        group=account.gid,
        extra_groups=account.groups,
        capture_output=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        timeout=SECONDS,
        check=False,
    ).stdout
    return [right for right, told in zip(rights, answer.decode(), strict=True) if told == "0"]


def granting(account: Account, missing: Iterable[Right]) -> str:
    """The command (for root, Linux; Windows elsewhere) that gives the rights, and no more."""
    name = account.name
    by_path: dict[str, str] = {}
    for mode, path in missing:
        by_path[path] = by_path.get(path, "") + mode
    if os.name == "nt":
        grants = (
            f"icacls {shell_word(path)} /grant {shell_word(name + ':(RX)')}" for path in by_path
        )
        return "; ".join(grants)
    if shutil.which("setfacl") is None:
        return " && ".join(f"chmod a+{mode} {shell_word(path)}" for path, mode in by_path.items())
    return " && ".join(
        f"setfacl -m u:{name}:{mode} {shell_word(path)}" for path, mode in by_path.items()
    )


def shell_word(text: str) -> str:
    """`text` as one word of a command, for sh; on Windows for PowerShell, for cmd too if it can.

    PowerShell expands `$` and backticks between double quotes, and takes curly ones for straight.
    """
    if os.name != "nt":
        return shlex.quote(text)
    if re.search('["%$`\u201c\u201d\u201e]', text) is None:
        return f'"{text}"'
    return "'" + re.sub("(['\u2018\u2019\u201a\u201b])", r"\1\1", text) + "'"


MOST_FILES = 10_000
"""Files of a source that are counted."""
MOST_ASKED = 200
"""Files of which it is asked whether they may be read: the youngest."""
MOST_MENDED = 8
"""Rights that one command gives."""
_ZONE_COMMAND = "tzutil /g"


def matching(entry: FileSource) -> list[str]:
    """The regular files of a source, the oldest first. Never opens one."""
    found: dict[str, int] = {}
    for pattern in entry.paths:
        names = [pattern] if _is_there(pattern) else matches(pattern)[:MOST_FILES]
        for name in names:
            try:
                state = Path(name).stat()
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                found[name] = state.st_mtime_ns
    return sorted(found, key=lambda name: found[name])


def of_files(entry: FileSource, account: Account, records: int) -> list[Problem]:
    """Of a source that took `records` in so far. Raises OSError, subprocess.SubprocessError."""
    files = matching(entry)
    barred = _barred(entry, files, account)
    if barred:
        paths = listed_names(list(dict.fromkeys(path for _, path in barred)))
        more = ". The command is for the first of them" if len(barred) > MOST_MENDED else ""
        return [
            Problem(
                problem="no_permission",
                source=entry.name,
                sentence=f"{account.name} may not read {paths}{more}",
                command=granting(account, barred[:MOST_MENDED]),
            )
        ]
    described = _described(entry, files)
    return [
        *_absent(entry, files, records),
        *_time_zone(entry, files, described),
        *_date_order(entry, files, described),
        *_language(entry, files, described),
    ]


def _described(entry: FileSource, files: Sequence[str]) -> Described:
    """The beginning of the youngest file; nothing where it cannot be read or is of another kind,
    which the source itself says."""
    if not files or entry.type == "page_scan":
        return Described()
    try:
        head = sniff(files[-1])[0]
        return describe(entry, files[-1], head) if head else Described()
    except SourceError:
        return Described()


def _absent(entry: FileSource, files: Sequence[str], records: int) -> Iterator[Problem]:
    if files and entry.type != "page_scan":
        for path in entry.paths:
            folder = str(Path(path).parent)
            gone = not glob.has_magic(folder) and not _is_there(folder)
            if gone or (not glob.has_magic(path) and path not in files):
                yield _nothing_at(entry, [path])
    elif not files and entry.type == "page_scan":
        # A snapshot comes and goes; one that was read was there.
        if not records:
            yield Problem(
                problem="snapshot_never",
                source=entry.name,
                sentence=f"nothing is at {listed_names(entry.paths)}, and no page of it was ever "
                "read: take the snapshot, or correct the path",
                command=_listing(entry.paths[0]) if entry.paths else "",
            )
    elif not files:
        yield _nothing_at(entry, entry.paths)


def _nothing_at(entry: FileSource, paths: Sequence[str]) -> Problem:
    what = "nothing is there"
    if _is_there(paths[0]) and Path(paths[0]).is_dir():
        what = f"that is a folder: name the files in it, such as {Path(paths[0]) / '*'}"
    elif _is_there(paths[0]):
        what = "that is not a regular file"
    return Problem(
        problem="path_matches_nothing",
        source=entry.name,
        sentence=f"{listed_names(paths)}: {what}",
        command=_listing(paths[0]),
    )


def _listing(path: str) -> str:
    folder = Path(path).parent
    while folder != folder.parent and not _is_there(str(folder)):
        folder = folder.parent
    return f"{'dir' if os.name == 'nt' else 'ls -l'} {shell_word(str(folder))}"


def _barred(entry: FileSource, files: Sequence[str], account: Account) -> list[Right]:
    asked: dict[Right, None] = {}
    for pattern in entry.paths:
        fixed = _fixed(pattern)
        asked.update(
            dict.fromkeys(("x", str(folder)) for folder in Path(fixed).absolute().parents[::-1])
        )
        if fixed != pattern:
            listed = [fixed, *_folders_matched(pattern, fixed)]
            asked.update(dict.fromkeys((mode, path) for path in listed for mode in "rx"))
    asked.update(dict.fromkeys(("r", path) for path in files[-MOST_ASKED:]))
    there = [(mode, path) for mode, path in asked if _is_there(path)]
    return missing_rights(account, there)


def _fixed(pattern: str) -> str:
    """The folder that the search for a pattern begins in; a path that is none as it is."""
    while glob.has_magic(pattern) and not _is_there(pattern):
        pattern = str(Path(pattern).parent)
    return pattern


def _folders_matched(pattern: str, fixed: str) -> list[str]:
    """Folders below `fixed` that must be listed to find what matches, as far as they are seen."""
    found: list[str] = []
    above = Path(pattern).parent
    while str(above) != fixed and above != above.parent:
        # `**` alone is the files below; folders at any depth are what `**/*` gives.
        names = matches(str(above / "*" if above.name == "**" else above))
        found = [*(each for each in names if Path(each).is_dir()), *found]
        above = above.parent
    return found[:MOST_ASKED]


def _is_there(path: str) -> bool:
    """False also where this account may not look; a NUL is in no name of a file."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def _time_zone(entry: FileSource, files: Sequence[str], described: Described) -> Iterator[Problem]:
    """Local times that are taken for UTC because no zone is configured, or the wrong one."""
    if NO_ZONE in described.remarks:
        yield Problem(
            problem="time_zone_assumed",
            source=entry.name,
            sentence=f"the times in {files[-1]} are local and are taken for UTC, because their "
            "zone is not known. The command prints the zone of the server that it runs on",
            command=_ZONE_COMMAND,
            setting=f"timezone: Europe/Berlin   # in the source {quoted(entry.name)}",
        )
    zone = getattr(entry, "timezone", None) or ""
    if contradicted(zone) in described.remarks:
        yield Problem(
            problem="time_zone_contradicted",
            source=entry.name,
            sentence=f"the times in {files[-1]} {contradicted(zone)}. The command prints the zone "
            "of the server that it runs on",
            command=_ZONE_COMMAND,
            setting=f"timezone: Europe/Berlin   # in the source {quoted(entry.name)}",
        )


def _date_order(entry: FileSource, files: Sequence[str], described: Described) -> Iterator[Problem]:
    """Dates that can be read in two ways: none in the beginning of the file has a day above 12."""
    if described.assumed_order:
        first, other = ("month", "dmy") if described.assumed_order == "mdy" else ("day", "mdy")
        yield Problem(
            problem="date_order_assumed",
            source=entry.name,
            sentence=f"the dates in {files[-1]} can have the month or the day first, and none of "
            f"the first ones proves which. They are read with the {first} first",
            setting=f"date_order: {other}   # in the source {quoted(entry.name)}, if that is wrong",
        )


def _language(entry: FileSource, files: Sequence[str], described: Described) -> Iterator[Problem]:
    """A counter log with columns of which none is a counter of ESE as it is known here."""
    if not described.counters or described.feeds:
        return
    objects = sorted({name for name, _ in described.counters})
    foreign = [name for name in objects if "==>" in name and object_kind(name) is None]
    what = "none of its objects has an English name" if foreign else "no counter of ESE is in it"
    yield Problem(
        problem="counters_foreign",
        source=entry.name,
        sentence=f"{files[-1]}: {what} ({listed_names(foreign or objects)}). windows_exporter "
        "names them in English on every Windows"
        if foreign
        else f"{files[-1]}: {what} ({listed_names(objects)}): log those of ESE too",
        command="" if foreign else LOGMAN.format("MSExchange Database"),
        setting="sources: [{type: prometheus, url: 'http://ex01:9182/metrics', computer: ex01}]"
        if foreign
        else "",
    )
