"""A server of Windows that remembers what `esewatch windows` asked of it."""

import argparse
from pathlib import Path

from esewatch.cli.run.windows import command
from esewatch.cli.run.windows.prepare import VIRTUAL_ACCOUNT, service_sid

WINDOWS = Path(__file__).resolve().parents[4] / "deploy" / "windows"
SID = service_sid("esewatch")
MANAGED, MANAGED_SID = r"EXAMPLE\esewatch$", "S-1-5-21-1-2-3-1104"
PERFLIB = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib"
SERVICES = r"SYSTEM\CurrentControlSet\Services"
ESENT = rf"{SERVICES}\ESENT\Performance"
CHANNEL = "O:BAG:SYD:(A;;0xf0007;;;SY)(A;;0x1;;;S-1-5-32-573)"
READERS, MONITORS = "S-1-5-32-573", "S-1-5-32-558"


class StandIn:
    """Implements `prepare.Server`; it remembers what was asked for."""

    def __init__(self, *, controller: bool = False, refuses: str = "") -> None:
        self.controller, self.refuses = controller, refuses
        self.members: set[tuple[str, str]] = set()
        self.numbers: dict[str, int | None] = {ESENT: None}
        self.keys = {PERFLIB: "D:PAI(A;CI;KA;;;BA)"}
        self.channels = {"Application": CHANNEL, "System": CHANNEL, "Directory Service": CHANNEL}
        self.folders: dict[Path, str] = {}
        self.command = r'"C:\Program Files\esewatch\python\python.exe" -P'
        self.logs = "Application\r\nMicrosoft-Windows-Dhcp-Client/Admin\r\nSystem\r\n"
        self.ran: list[tuple[str, ...]] = []

    def is_domain_controller(self) -> bool:
        return self.controller

    def sid(self, account: str) -> str:
        if self.refuses == "sid":
            raise OSError("no such account")
        return {VIRTUAL_ACCOUNT: SID, MANAGED: MANAGED_SID}[account]

    def join(self, group: str, member: str) -> None:
        if self.refuses == "join":
            raise OSError("no such group")
        self.members.add((group, member))

    def leave(self, group: str, member: str) -> None:
        self.members.discard((group, member))

    def number(self, key: str, name: str) -> int | None:
        assert name == "Show Advanced Counters"
        return self.numbers[key]

    def has_key(self, key: str) -> bool:
        return key in self.numbers

    def set_number(self, key: str, name: str, value: int | None) -> None:
        assert name == "Show Advanced Counters"
        if self.refuses == "number":
            raise OSError("access is denied")
        self.numbers[key] = value

    def key_access(self, key: str) -> str:
        return self.keys[key]

    def set_key_access(self, key: str, descriptor: str) -> None:
        self.keys[key] = descriptor

    def make_folder(self, path: Path, descriptor: str) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.folders[path] = descriptor

    def service_command(self) -> str:
        return self.command

    def set_service_command(self, command: str) -> None:
        self.command = command

    def run(self, program: str, *words: str) -> str:
        self.ran.append((program, *words))
        if program == "netsh" and "delete" in words:
            raise OSError("no rules match")
        if words == ("el",):
            return self.logs
        if words[0] == "gl":
            return f"name: {words[1]}\nenabled: true\nchannelAccess: {self.channels[words[1]]}\n"
        if words[0] == "sl":
            self.channels[words[1]] = words[2].removeprefix("/ca:")
        return ""


def change(server: StandIn, data: Path, *words: str) -> None:
    """Run `esewatch windows` with these words on the server, with `data` as its folder."""
    parser = argparse.ArgumentParser()
    command.add_commands(parser.add_subparsers())
    options = parser.parse_args(["windows", *words])
    if options.action == "prepare":
        options.template = data.parent / "esewatch.yml"
    assert command.change(server, data, options) == 0
