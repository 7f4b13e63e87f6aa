"""The checkpoint: from which position of the log a recovery has to begin.

A file `E00.chk` of ESE (CHECKPOINT in log.hxx of the published engine): one page of 4 KiB, twice.
One copy is written after the other, so that one is whole whenever the other is torn. Behind what
ESE has there stands what this engine adds.
"""

import struct
from typing import Final

from esefiles.pages.checksum import xor_checksum
from eselab.disk.disk import Disk
from eselab.storage.transaction_log.header_bytes import log_position, position_in, signature_bytes

_PAGE: Final = 4096
_FILE_TYPE: Final = 667
_CHECKPOINT: Final = 4
_POSITION_AT: Final = 12
_CONSISTENCY_AT: Final = 648
_SIGNATURE_AT: Final = 20
_OWN = struct.Struct("<QQQ")
"""Number of this writing, position, dbtime."""
_OWN_AT: Final = 3072


class CheckpointError(Exception):
    """Both pages of the checkpoint are damaged, or it belongs to another log."""


class Checkpoint:
    """The checkpoint of one log: `position`, and `dbtime`, beyond which no page on disk is."""

    def __init__(self, disk: Disk, base: str, signature: int, began: float) -> None:
        self._disk = disk
        self._name = f"{base}.chk"
        self._signature = signature_bytes(signature, began)
        self._writing = 0
        self.position = 0
        self.shown = 0
        """Position that readers of ESE's files find: `position`, or where that was before."""
        self.dbtime = 0

    @classmethod
    def create(
        cls,
        disk: Disk,
        *,
        base: str = "E00",
        signature: int,
        position: int,
        began: float = 0.0,
        dbtime: int = 0,
    ) -> "Checkpoint":
        """A new one at `position`; `began` is the time in the signature of the log."""
        made = cls(disk, base, signature, began)
        made.write(position, dbtime)
        disk.sync()
        return made

    @classmethod
    def open(
        cls, disk: Disk, *, base: str = "E00", signature: int, began: float = 0.0
    ) -> "Checkpoint":
        """The one that is there. Raises CheckpointError."""
        found = cls(disk, base, signature, began)
        try:
            file = disk.open(found._name)
        except FileNotFoundError:
            raise CheckpointError(f"{found._name} is missing") from None
        for page in (file.read(0, _PAGE), file.read(_PAGE, _PAGE)):
            if len(page) == _PAGE and struct.unpack_from("<I", page)[0] == xor_checksum(page):
                found._take(page)
        file.close()
        if not found._writing:
            raise CheckpointError(f"{found._name} is damaged or of another log")
        return found

    def write(self, position: int, dbtime: int, *, shown: int = 0) -> None:
        """Set it, durably. `shown` 0: it is `position`."""
        shown = shown or position
        self._writing += 1
        page = bytearray(_PAGE)
        for at in (_POSITION_AT, _CONSISTENCY_AT):
            page[at : at + 8] = log_position(shown)
        page[_SIGNATURE_AT : _SIGNATURE_AT + len(self._signature)] = self._signature
        struct.pack_into("<I", page, _FILE_TYPE, _CHECKPOINT)
        _OWN.pack_into(page, _OWN_AT, self._writing, position, dbtime)
        struct.pack_into("<I", page, 0, xor_checksum(bytes(page)))
        file = self._disk.open(self._name, create=True)
        for at in (0, _PAGE):
            file.write(at, bytes(page))
            file.sync()
        file.close()
        self.position, self.dbtime, self.shown = position, dbtime, shown

    def _take(self, page: bytes) -> None:
        """Take over a whole page, if it is of this log and written later than what is known."""
        writing, position, dbtime = _OWN.unpack_from(page, _OWN_AT)
        owner = page[_SIGNATURE_AT : _SIGNATURE_AT + len(self._signature)]
        if owner == self._signature and writing > self._writing:
            self._writing, self.position, self.dbtime = writing, position, dbtime
            self.shown = position_in(page, _POSITION_AT)
