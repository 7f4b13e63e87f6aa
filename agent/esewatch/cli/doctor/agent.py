"""Checks of the daemon: its journal, whether it answers, the configuration in use."""

import argparse
import http.client
import os
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

from esefiles.base.names import reason_of
from esewatch.cli.doctor.source_files import Account, missing_rights, shell_word
from esewatch.cli.run.local import connection_to, place_of
from esewatch.config import Settings
from esewatch.config.web import WebSettings, load_web
from esewatch.daemon.reload import digests
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.expose.http.server import format_address
from esewatch.expose.pages.problems.problem import Problem
from esewatch.expose.pages.problems.source_problems import UNITS
from esewatch.fold.state.state import State
from esewatch.sources.kafka.partition import every_journal

OF_UNITS = Path("/etc/esewatch")
"""Its `esewatch.yml` is that of the unit `esewatch`, `NAME.yml` that of `esewatch@NAME`."""
_ELSEWHERE = b"This esewatch is at "
LEAST_FREE = 16 << 20
"""Bytes that the journal wants to have left on its disk."""


def of_journal(settings: Settings, account: Account, options: argparse.Namespace) -> list[Problem]:
    """Problems of the journal, which must be there and, as those of partitions, can be written.
    Raises OSError, subprocess.SubprocessError."""
    path = Path(settings.journal)
    try:
        owner = path.stat().st_uid
    except PermissionError:
        return []  # another finding says who lacks permission to see it
    except OSError:
        missing_journal = Problem(
            problem="journal_missing",
            sentence=f"there is no journal {path}: esewatch never ran with this configuration. "
            "Statements on sources and databases come from a short sample of the inputs",
            command=starting(options),
        )
        return [missing_journal, *_no_room(path.parent)]
    if os.name != "nt" and os.geteuid() not in (0, owner):
        return _no_room(path.parent)  # another account writes it, which only root can try
    every = every_journal(settings)
    missing = missing_rights(account, [("w", str(each)) for each in (*every, path.parent)])
    if not missing:
        return _no_room(path.parent)
    barred = [each for each in every if ("w", str(each)) in missing] or [path]
    return [
        Problem(
            problem="journal_unwritable",
            sentence=f"{account.name} may not write the journal {barred[0]}: nothing more is read",
            command=_owning(account, barred),
        )
    ]


def _owning(account: Account, journals: Sequence[Path]) -> str:
    folder = journals[0].parent
    if os.name == "nt":
        name = shell_word(f"{account.name}:(OI)(CI)M")
        return f"icacls {shell_word(str(folder))} /grant {name}"
    all_of_them = " ".join(shell_word(str(each)) for each in (folder, *journals))
    return f"chown {account.name}: {all_of_them} && chmod u+rwX {all_of_them}"


def _no_room(folder: Path) -> list[Problem]:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if os.name == "nt":
        return []
    disk = os.statvfs(folder)
    read_only = bool(disk.f_flag & os.ST_RDONLY)
    if not read_only and disk.f_bavail * disk.f_frsize >= LEAST_FREE:
        return []
    what = "is mounted read-only" if read_only else "is full"
    return [
        Problem(
            problem="journal_unwritable",
            sentence=f"the disk of the journal ({folder}) {what}: nothing more is read",
            command=f"df -h {shell_word(str(folder))}",
        )
    ]


def starting(options: argparse.Namespace) -> str:
    """The command that starts the daemon: the unit where one is installed."""
    unit = unit_of(options)
    if unit:
        return f"systemctl enable --now {unit}"
    return f"esewatch run{_given(options, '--web.listen-address')}"


def restarting(options: argparse.Namespace) -> str:
    """The command that restarts it, or starts it where no unit is installed."""
    unit = unit_of(options)
    return f"systemctl restart {unit}" if unit else starting(options)


def reloading(options: argparse.Namespace) -> str:
    """The command that lets it read its configuration again."""
    unit = unit_of(options)
    return f"systemctl reload {unit}" if unit else curl(options, "/-/reload", "POST")


def again_as_root(options: argparse.Namespace) -> str:
    """The command that asks the same with all rights."""
    return f"sudo esewatch doctor{_given(options, '--web.address')}"


def _given(options: argparse.Namespace, address: str) -> str:
    """The options that say which esewatch is meant; `address` is the name of one of them."""
    where, _, path = options.address.partition("/")
    if address == "--web.address" and path:
        where, path = options.address, ""
    values = {
        "--config.file": options.config,
        "--storage.path": options.storage,
        address: where if where != DEFAULT_ADDRESS else "",
        "--web.route-prefix": f"/{path}" if path else "",
        "--web.config.file": options.web_config,
    }
    return "".join(f" {name} {shell_word(value)}" for name, value in values.items() if value)


def unit_of(options: argparse.Namespace) -> str:
    """The installed unit that runs with this configuration, as a word of the shell, or nothing."""
    if not any(Path(unit).exists() for unit in UNITS):
        return ""
    path = Path(options.config or OF_UNITS / "esewatch.yml")
    if path.parent != OF_UNITS or path.suffix != ".yml":
        return ""
    return "esewatch" if path.stem == "esewatch" else shell_word(f"esewatch@{path.stem}")


def of_daemon(options: argparse.Namespace) -> list[Problem]:
    """Daemon problems. Raises EsewatchError for an address or web configuration that is none."""
    web = load_web(options.web_config) if options.web_config else WebSettings()
    connection = connection_to(options.address, web)
    if web.tls is not None and web.tls.client_auth_type == "RequireAndVerifyClientCert":
        return _of_handshake(options, connection)
    try:
        path = f"{place_of(options.address)[2]}/-/healthy"
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        body = answer.read(100)
    except (OSError, http.client.HTTPException) as error:
        return [_silent(options, reason_of(error))]
    finally:
        connection.close()
    if answer.status in (200, 401) and (body.startswith(b"Healthy") or answer.status == 401):
        return []
    if _ELSEWHERE in body:
        prefix = body.partition(_ELSEWHERE)[2].decode("ascii", "replace").strip()
        return [_silent(options, f"it is at {prefix}: --web.address HOST:PORT{prefix}")]
    return [_silent(options, f"another program answers there (status {answer.status})")]


def _of_handshake(
    options: argparse.Namespace, connection: http.client.HTTPConnection
) -> list[Problem]:
    """A daemon that hangs up on who has no certificate, as this command: so far it can be seen."""
    try:
        connection.connect()
    except ssl.SSLError:
        return []
    except OSError as error:
        return [_silent(options, reason_of(error))]
    finally:
        connection.close()
    return []


def _silent(options: argparse.Namespace, reason: str) -> Problem:
    return Problem(
        problem="daemon_silent",
        sentence=f"no esewatch answers at {options.address}: {reason}. If it runs elsewhere: "
        "--web.address HOST:PORT, with TLS --web.config.file F",
        command=starting(options),
    )


def curl(options: argparse.Namespace, path: str, method: str = "") -> str:
    """The command that asks the daemon for a path, by TLS and as a user where it wants that."""
    web = load_web(options.web_config) if options.web_config else WebSettings()
    host, port, prefix = place_of(options.address)
    scheme = "http" if web.tls is None else "https"
    url = shell_word(f"{scheme}://{format_address(host, port)}{prefix}{path}")
    # The certificate names the machine, not the address of this command.
    flags = [f"-X {method}" if method else "-s", *(["-k"] if web.tls is not None else [])]
    flags += [f"-u {shell_word(name)}" for name in sorted(web.users)[:1]]
    return f"curl {' '.join(flags)} {url}"


def not_taken_up(
    settings: Settings, state: State, options: argparse.Namespace
) -> Iterator[Problem]:
    """Sources of the file that the daemon has not, or has with other settings."""
    for name, digest in digests(settings).items():
        known = state.sources.get(name)
        if known is None or known.settings != digest:
            yield Problem(
                problem="source_not_taken_up",
                source=name,
                sentence="esewatch does not use this source of the file yet"
                if known is None
                else "esewatch still reads this source with other settings than the file has",
                command=reloading(options),
            )
