"""The checkpoint: from which position of the log a recovery has to begin.

A file `E00.chk` of two pages of 4 KiB (XOR checksum, file type 4 at 667), written in turns,
so that one of them is whole whenever the other is torn.
"""

import struct
from typing import Final

from eselab.disk.disk import Disk
from esewatch.ese.pages.checksum import xor_checksum

_PAGE: Final = 4096
_FILE_TYPE: Final = 667
_CHECKPOINT: Final = 4
_BODY = struct.Struct("<IQQQ")
"""Signature, number of this writing, position, dbtime; from offset 4 on."""


class CheckpointError(Exception):
    """Both pages of the checkpoint are damaged, or it belongs to another log."""


class Checkpoint:
    """The checkpoint of one log: `position`, and `dbtime`, beyond which no page on disk is."""

    def __init__(self, disk: Disk, base: str, signature: int) -> None:
        self._disk = disk
        self._name = f"{base}.chk"
        self._signature = signature
        self._writing = 0
        self.position = 0
        self.dbtime = 0

    @classmethod
    def create(
        cls, disk: Disk, *, base: str = "E00", signature: int, position: int
    ) -> "Checkpoint":
        """A new one at `position`."""
        made = cls(disk, base, signature)
        made.write(position, 0)
        made.write(position, 0)
        disk.sync()
        return made

    @classmethod
    def open(cls, disk: Disk, *, base: str = "E00", signature: int) -> "Checkpoint":
        """The one that is there. Raises CheckpointError."""
        found = cls(disk, base, signature)
        try:
            file = disk.open(found._name)
        except FileNotFoundError:
            raise CheckpointError(f"{found._name} is missing") from None
        for page in (file.read(0, _PAGE), file.read(_PAGE, _PAGE)):
            if len(page) == _PAGE and struct.unpack_from("<I", page)[0] == xor_checksum(page):
                owner, writing, position, dbtime = _BODY.unpack_from(page, 4)
                if owner == signature and writing > found._writing:
                    found._writing, found.position, found.dbtime = writing, position, dbtime
        file.close()
        if not found._writing:
            raise CheckpointError(f"{found._name} is damaged or of another log")
        return found

    def write(self, position: int, dbtime: int) -> None:
        """Set it, durably."""
        self._writing += 1
        page = bytearray(_PAGE)
        _BODY.pack_into(page, 4, self._signature, self._writing, position, dbtime)
        struct.pack_into("<I", page, _FILE_TYPE, _CHECKPOINT)
        struct.pack_into("<I", page, 0, xor_checksum(bytes(page)))
        file = self._disk.open(self._name, create=True)
        file.write(self._writing % 2 * _PAGE, bytes(page))
        file.sync()
        file.close()
        self.position, self.dbtime = position, dbtime
