"""The checkpoint file: from which log on a recovery replays, unless it cannot be read.

It has two copies of one page; without a good one the engine replays from the lowest log on.
Source: CHECKPOINT in log.hxx and ErrLGReadCheckpoint in log.cxx of the published engine.
"""

from datetime import datetime
from typing import Final

import msgspec

from esefiles.logs.log_header import Attachment, NotLog, attachments
from esefiles.pages import header_fields
from esefiles.pages.checksum import xor_checksum
from esefiles.pages.file_types import name_of
from esefiles.pages.header_fields import LogPosition, Signature, u32

CHECKPOINT_PAGE: Final = 4096
CHECKPOINT_BYTES: Final = 2 * CHECKPOINT_PAGE

_FILE_TYPE_AT = 667
_CHECKPOINT = 4
_ATTACHED_AT = 679
_ATTACHED_BYTES = 2048


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of a checkpoint, from the first copy whose checksum is right."""

    position: LogPosition | None
    """Position at which a replay begins."""
    consistency: LogPosition | None
    """Up to where all databases are known to be written."""
    signature: Signature
    """Of the series of logs."""
    full_backup: LogPosition | None
    full_backup_time: datetime | None
    incremental_backup: LogPosition | None
    incremental_backup_time: datetime | None
    attachments: list[Attachment]
    header_ok: bool = True
    shadow_header_ok: bool = True


def parse_checkpoint(data: bytes) -> Checkpoint | NotLog:
    """Parse the first CHECKPOINT_BYTES of a file, all of it if shorter."""
    copies = [data[at : at + CHECKPOINT_PAGE] for at in (0, CHECKPOINT_PAGE)]
    good = [
        len(page) == CHECKPOINT_PAGE
        and (u32(page, _FILE_TYPE_AT), u32(page, 0)) == (_CHECKPOINT, xor_checksum(page))
        for page in copies
    ]
    if not any(good):
        types = {u32(page, _FILE_TYPE_AT) for page in copies if len(page) >= _FILE_TYPE_AT + 4}
        if _CHECKPOINT in types and len(data) < CHECKPOINT_PAGE:
            return NotLog(f"it ends after {len(data)} bytes, within its header", damaged=True)
        if _CHECKPOINT in types:
            return NotLog("both copies of the checkpoint are damaged (checksum)", damaged=True)
        return NotLog(name_of(data))
    page = copies[good.index(True)]
    return Checkpoint(
        position=header_fields.position(page, 12),
        consistency=header_fields.position(page, 648),
        signature=header_fields.signature(page, 20),
        full_backup=header_fields.position(page, 615),
        full_backup_time=header_fields.time(page, 623),
        incremental_backup=header_fields.position(page, 631),
        incremental_backup_time=header_fields.time(page, 639),
        attachments=attachments(page[_ATTACHED_AT : _ATTACHED_AT + _ATTACHED_BYTES]),
        header_ok=good[0],
        shadow_header_ok=good[1],
    )
