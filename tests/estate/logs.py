"""How the records of an estate come to the agent: in event logs of each server, or forwarded."""

from collections.abc import Iterable
from pathlib import Path

from tests.estate.script import Delivery
from tests.estate.servers import Server
from tests.oracle.files import json_line, write_evtx, write_record
from tests.oracle.history import Logged
from tests.support.evtx_writer import EvtxWriter

FORWARDED = "south"
"""The site whose servers forward their events to one host; of the others the logs are read."""
ROTATED = 4000
"""Lines after which the host begins a new file."""


class Logs:
    """The files of an estate, as they grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / FORWARDED).mkdir(parents=True)
        self._logs: dict[tuple[int, str], EvtxWriter] = {}
        self._held: dict[int, list[Logged]] = {}
        """What the logs of a server hold that is exported one day."""
        self._lines = 0

    def deliver(self, deliveries: Iterable[Delivery]) -> None:
        """Write all of these, which are next."""
        for each in deliveries:
            if each.server.site == FORWARDED:
                self._forward(each.logged)
            else:
                self._log(each.server, each.logged)
        for writer in self._logs.values():
            writer.flush()

    def export(self, server: Server) -> None:
        """The part of the logs that the server is to export, in a file beside them."""
        folder = self.folder / f"{server.label}-exported"
        folder.mkdir()
        _, begin, end = server.exported
        write_evtx(folder, [it for it in self._held[server.number] if begin <= it.time < end])

    def close(self) -> None:
        for writer in self._logs.values():
            writer.close()

    def _forward(self, logged: Logged) -> None:
        file = self.folder / FORWARDED / "forwarded.ndjson"
        if self._lines and self._lines % ROTATED == 0:
            file.rename(file.with_name(f"forwarded-{self._lines:07}.ndjson"))
        self._lines += 1
        with file.open("a") as lines:
            lines.write(json_line(logged) + "\n")

    def _log(self, server: Server, logged: Logged) -> None:
        key = (server.number, logged.channel)
        writer = self._logs.get(key)
        number = logged.record_id or 1
        if writer is None or number != writer.next_record_id:
            # It was cleared, or overwritten.
            path = self.folder / server.label / f"{logged.channel}.evtx"
            path.parent.mkdir(exist_ok=True)
            if writer is not None:
                writer.close()
                path.unlink()
            writer = EvtxWriter(path, channel=logged.channel, first_record_id=number)
            self._logs[key] = writer
        write_record(writer, logged)
        if server.exported[1]:
            self._held.setdefault(server.number, []).append(logged)
