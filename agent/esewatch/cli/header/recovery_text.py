"""The rows of the headers of a transaction log, a checkpoint and a flush map, for people.

Name and value of each; `size` is the file's, in bytes.
"""

from collections.abc import Iterable, Iterator

from esewatch.cli.header.words import NEVER, generation_text, signature_text, time_text
from esewatch.ese.logs.attachments import Attachment
from esewatch.ese.logs.checkpoint import Checkpoint
from esewatch.ese.logs.log_header import LogHeader, Parameters
from esewatch.ese.pages.flush_map.flush_types import PAGES_OF_MAP_PAGE
from esewatch.ese.pages.flush_map.map_header import MAP_PAGE, MapHeader


def log_rows(size: int, header: LogHeader) -> Iterator[tuple[str, str]]:
    """The rows of a log."""
    expected = header.file_bytes()
    yield "Kind", "transaction log"
    yield "Generation", generation_text(header.generation)
    yield "Created", time_text(header.created)
    yield "Previous log created", time_text(header.previous_created)
    yield "Log signature", signature_text(header.signature)
    yield "Format", header.version
    wrong = "" if size == expected else f", its header says {expected:,}: it was cut or extended"
    yield "Size", f"{size:,} bytes, sectors of {header.sector_bytes:,}{wrong}"
    yield "Page size", f"{header.page_size:,} bytes"
    yield "Checkpoint at creation", str(header.checkpoint or "none")
    history = ", on in older logs of the series" if header.circular_before else ""
    yield "Circular logging", ("on" if header.circular else "off") + history
    if header.from_reserve:
        yield "From a reserve log", "yes: the disk was full"
    if header.has_previous_checksum():
        yield "Previous checksum", f"0x{header.previous_checksum:016x}"
    if header.engine_format:
        yield "Engine's format", str(header.engine_format)
    yield "Folder", header.folder or "none"
    yield "Checkpoint's folder", header.system_folder or "none"
    yield "Parameters", _parameters(header.parameters)
    yield from _attached(header.attachments)


def _parameters(of: Parameters) -> str:
    return (
        f"sessions {of.sessions:,}, open tables {of.open_tables:,}, version pages"
        f" {of.version_pages:,}, cursors {of.cursors:,}, log buffers {of.log_buffers:,}, log"
        f" {of.log_sectors:,} sectors, cache {of.cache_pages:,} pages"
    )


def checkpoint_rows(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """The rows of a checkpoint."""
    whole = (checkpoint.header_ok, checkpoint.shadow_header_ok)
    copies = ("ok" if ok else "damaged" for ok in whole)
    yield "Kind", "checkpoint"
    yield "Header, shadow", ", ".join(copies)
    yield "Checkpoint", str(checkpoint.position or "none")
    yield "Written up to", str(checkpoint.consistency or "none")
    yield "Log signature", signature_text(checkpoint.signature)
    full, incremental = checkpoint.full_backup_time, checkpoint.incremental_backup_time
    yield "Full backup", time_text(full) if full else NEVER
    if incremental:
        yield "Incremental backup", time_text(incremental)
    yield from _attached(checkpoint.attachments)


def map_rows(size: int, header: MapHeader) -> Iterator[tuple[str, str]]:
    """The rows of a flush map."""
    yield "Kind", "flush map"
    yield "Completed", "yes" if header.clean else "no: it was in use"
    yield "Format", header.version
    yield "Size", f"{size:,} bytes, room for {PAGES_OF_MAP_PAGE * (size // MAP_PAGE - 1):,} pages"
    yield "Created", time_text(header.created)
    yield "Attached", time_text(header.attached)
    yield "Detached", time_text(header.detached)
    required = header.log_required
    yield "Log required", generation_text(required) if required else "none"
    yield "Full flush started", time_text(header.flush_started)
    yield "Full flush done", time_text(header.flush_completed)
    yield "Flush of database", signature_text(header.database_flush)
    yield "Flush of map", signature_text(header.map_flush)


def _attached(attachments: Iterable[Attachment]) -> Iterator[tuple[str, str]]:
    for attached in attachments:
        yield "Attached", f"{attached.path} (database {attached.database_id})"
