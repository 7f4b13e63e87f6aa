"""Changes of `esewatch windows prepare` to a server, which `restore` takes back.

The MSI and the scripts call both; a second run of either changes nothing more. What a value of the
registry was is noted before it is changed, for `restore`. Security identifiers, and descriptors in
SDDL, are as in "Security Descriptor Definition Language" and "Well-known SIDs" of the
documentation.
"""

import hashlib
import json
import re
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from esewatch.ese.counters.counter_commands import LIBRARIES

SERVICE: Final = "esewatch"
VIRTUAL_ACCOUNT: Final = rf"NT SERVICE\{SERVICE}"
"""Windows makes it for the service alone: it has no password."""

EVENT_LOG_READERS: Final = "S-1-5-32-573"
PERFORMANCE_MONITOR_USERS: Final = "S-1-5-32-558"

_OWNED: Final = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""Administrators own it; SYSTEM and they may do all; nothing is inherited."""
_READ, _MODIFY = "0x1200a9", "0x1301bf"
_ENTRY: Final = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")


def service_sid(name: str) -> str:
    """The identifier of the virtual account of a service: it follows from its name."""
    digest = hashlib.sha1(name.upper().encode("utf-16-le"), usedforsecurity=False).digest()
    return "S-1-5-80-" + "-".join(map(str, struct.unpack("<5I", digest)))


def folder_descriptor(sid: str, *, writes: bool) -> str:
    """A folder for administrators, which `sid` may read, or also write in."""
    return f"{_OWNED}(A;OICI;{_MODIFY if writes else _READ};;;{sid})"


def with_entry(descriptor: str, sid: str, right: str) -> str:
    """`descriptor` with one entry more at the end of its access list: `sid` may `right`. One that
    `sid` has already is replaced."""
    head, entries, tail = _parts(without_entries(descriptor, sid))
    return f"{head}{''.join(entries)}(A;;{right};;;{sid}){tail}"


def without_entries(descriptor: str, sid: str) -> str:
    head, entries, tail = _parts(descriptor)
    return head + "".join(each for each in entries if not each.endswith(f";{sid})")) + tail


def _parts(descriptor: str) -> tuple[str, list[str], str]:
    """Text before the entries of the access list, the entries, and the text behind them (audit)."""
    found = re.match(r"(?P<head>.*?D:[A-Z]*)(?P<list>(?:\(.*?\))*)(?P<tail>(?:S:.*)?)$", descriptor)
    if found is None:
        raise ValueError(f"no access list: {descriptor}")
    return found["head"], _ENTRY.findall(found["list"]), found["tail"]


LOG_SOURCE: Final = "{name: log, type: windows_log}"
"""As it stands in the template of the configuration."""
DEFAULT_CHANNELS: Final = ("Application", "Directory Service")
"""As in `config.WindowsLog`."""
COUNTERS: Final = "Show Advanced Counters"
NO_RULE: Final = "none"
_PERFORMANCE: Final = r"SYSTEM\CurrentControlSet\Services\{}\Performance"
_PERFLIB: Final = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib"
_CHANNELS: Final = ("Application", "System", "Directory Service")
_READ_LOG, _READ_KEY = "0x1", "KR"
_RESTART: Final = "restart/10000"
_FIREWALL: Final = ("netsh", "advfirewall", "firewall")
_RULE: Final = "name=esewatch"


class WindowsServer(Protocol):
    """A Windows server, with the rights of an administrator. Everything raises OSError; groups and
    members are named by their identifiers, access lists are SDDL."""

    def is_domain_controller(self) -> bool: ...
    def sid(self, account: str) -> str: ...
    def join(self, group: str, member: str) -> None: ...
    def leave(self, group: str, member: str) -> None: ...
    def number(self, key: str, name: str) -> int | None: ...
    def has_key(self, key: str) -> bool: ...
    def set_number(self, key: str, name: str, value: int | None) -> None: ...
    def key_access(self, key: str) -> str: ...
    def set_key_access(self, key: str, descriptor: str) -> None: ...
    def make_folder(self, path: Path, descriptor: str) -> None: ...
    def service_command(self) -> str: ...
    def set_service_command(self, command: str) -> None: ...
    def run(self, program: str, *words: str) -> str: ...


class ServiceSettings(NamedTuple):
    """Settings that the administrator wants other than by default."""

    account: str = VIRTUAL_ACCOUNT
    port: int = 19703
    firewall: str = NO_RULE
    """Clients that may reach the port: addresses as netsh takes them."""
    show_counters: bool = True


Say = Callable[[str], None]


def prepare(
    server: WindowsServer, data: Path, template: Path, settings: ServiceSettings, say: Say
) -> None:
    """Give the service what it needs. Raises OSError, ValueError."""
    sid = server.sid(settings.account)
    for part, writes in (("", False), ("state", True), ("logs", True)):
        server.make_folder(data / part, folder_descriptor(sid, writes=writes))
    say(f"{data}: {settings.account} may read, and write in state and logs")
    configuration = data / "esewatch.yml"
    if not configuration.exists():
        _make_configuration(server, configuration, template, say)
    _let_read(server, sid, settings.account, say)
    if settings.show_counters:
        _show_counters(server, _Notes(data), say)
    _set_rule(server, settings, say)
    _try(partial(_quote_program, server, say), say)
    # Without it a service that ended without a word stays ended until somebody starts it.
    words = ("sc", "failure", SERVICE, "reset=", "86400", "actions=", _RESTART)
    _try(partial(server.run, *words), say)


def _make_configuration(server: WindowsServer, file: Path, template: Path, say: Say) -> None:
    """That of the template, and the logs of AD LDS: each instance has one of its own."""
    text = template.read_text(encoding="utf-8")
    listed: list[str] = []
    _try(lambda: listed.extend(server.run("wevtutil", "el").splitlines()), say)
    # A name in other letters comes in a code page that nobody tells.
    logs = [name for line in listed if re.fullmatch(r"ADAM \([ -~]+\)", name := line.strip())]
    if logs:
        channels = json.dumps([*DEFAULT_CHANNELS, *logs])
        text = text.replace(LOG_SOURCE, f"{LOG_SOURCE[:-1]}, channels: {channels}}}")
        say(f"event logs of AD LDS: {', '.join(logs)} are read")
    file.write_text(text, encoding="utf-8", newline="")
    say(f"{file}: made")


def restore(server: WindowsServer, data: Path, account: str, say: Say) -> None:
    """Take back what `prepare` did, but for the folders. A failure is printed; the rest goes on."""
    _try(partial(_take_rights, server, account, say), say)
    notes = _Notes(data)
    restored = [
        _try(partial(_restore_counters, server, library, value, say), say)
        for library, value in notes.values.items()
    ]
    if all(restored):
        notes.forget()
    _try(partial(server.run, *_FIREWALL, "delete", "rule", _RULE), lambda _: None)


def _take_rights(server: WindowsServer, account: str, say: Say) -> None:
    """Raises OSError where the account is gone: then nobody has its rights."""
    sid = server.sid(account)
    for group in (EVENT_LOG_READERS, PERFORMANCE_MONITOR_USERS):
        _try(partial(server.leave, group, sid), say)
    if server.is_domain_controller():
        _try(partial(_forget_entries, server, sid), say)


def _restore_counters(server: WindowsServer, library: str, value: int | None, say: Say) -> None:
    key = _PERFORMANCE.format(library)
    if server.has_key(key):
        server.set_number(key, COUNTERS, value)
        say(f"{key}: {COUNTERS} is as before")


def _try(step: Callable[[], object], say: Say) -> bool:
    """Do a step without which the rest is still of use; False when it failed, which is printed."""
    try:
        step()
    except (OSError, ValueError) as error:
        say(f"not done: {error}")
        return False
    return True


def _let_read(server: WindowsServer, sid: str, account: str, say: Say) -> None:
    """Let it read event logs and counters only. Its sources report what it may not read."""
    steps: list[tuple[str, Callable[[], None]]] = []
    if not server.is_domain_controller() or account != VIRTUAL_ACCOUNT:
        for group in (EVENT_LOG_READERS, PERFORMANCE_MONITOR_USERS):
            steps.append((f"is in {group}", partial(server.join, group, sid)))
    else:
        # Its groups are those of the domain: no account of one machine is in them.
        steps.append((f"may read {_PERFLIB}", partial(_let_read_counters, server, sid)))
        for channel in _CHANNELS:
            change = partial(_change_channel, server, channel, sid, reads=True)
            steps.append((f"may read {channel}", change))
    for what, step in steps:
        if _try(step, say):
            say(f"{account} {what}")


def _let_read_counters(server: WindowsServer, sid: str) -> None:
    server.set_key_access(_PERFLIB, with_entry(server.key_access(_PERFLIB), sid, _READ_KEY))


def _forget_entries(server: WindowsServer, sid: str) -> None:
    key = server.key_access(_PERFLIB)
    if (after := without_entries(key, sid)) != key:
        server.set_key_access(_PERFLIB, after)
    for channel in _CHANNELS:
        _change_channel(server, channel, sid, reads=False)


def _change_channel(server: WindowsServer, channel: str, sid: str, *, reads: bool) -> None:
    said = server.run("wevtutil", "gl", channel)
    before = next(
        (line.partition(":")[2].strip() for line in said.splitlines() if "channelAccess:" in line),
        "",
    )
    after = with_entry(before, sid, _READ_LOG) if reads else without_entries(before, sid)
    if after != before:
        server.run("wevtutil", "sl", channel, f"/ca:{after}")


def _show_counters(server: WindowsServer, notes: "_Notes", say: Say) -> None:
    for library in LIBRARIES:
        key = _PERFORMANCE.format(library)
        if not server.has_key(key) or server.number(key, COUNTERS) == 1:
            continue
        notes.add(library, server.number(key, COUNTERS))
        server.set_number(key, COUNTERS, 1)
        say(f"{key}: {COUNTERS} = 1")


def _quote_program(server: WindowsServer, say: Say) -> None:
    r"""Of `C:\Program Files\x.exe` without quotes Windows starts `C:\Program.exe` if it can."""
    command = server.service_command()
    program, found, rest = command.partition(".exe")
    if found and " " in program and not program.startswith('"'):
        server.set_service_command(f'"{program}{found}"{rest}')
        say("the path of the service's program is in quotes now")


def _set_rule(server: WindowsServer, settings: ServiceSettings, say: Say) -> None:
    """One rule of ours, or none."""
    # There may be none: netsh calls that a failure.
    _try(partial(server.run, *_FIREWALL, "delete", "rule", _RULE), lambda _: None)
    if settings.firewall == NO_RULE:
        return
    server.run(
        *_FIREWALL, "add", "rule", _RULE, "dir=in", "action=allow", "protocol=TCP",
        f"localport={settings.port}", f"remoteip={settings.firewall}",
    )  # fmt: skip
    say(f"firewall: {settings.firewall} may reach port {settings.port}")


class _Notes:
    """Values that the registry had before, in a file that the service cannot write."""

    def __init__(self, data: Path) -> None:
        self._file = data / "install.json"
        self.values: dict[str, int | None] = {}
        if self._file.exists():
            self.values = json.loads(self._file.read_text(encoding="utf-8-sig"))

    def add(self, library: str, value: int | None) -> None:
        self.values.setdefault(library, value)
        self._file.write_text(json.dumps(self.values), encoding="utf-8")

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)
