"""The tables of a transaction log's and a checkpoint's header, for people."""

from collections.abc import Iterable, Iterator

from esewatch.cli.header.words import NEVER, generation_text, one_line, signature_text, time_text
from esewatch.ese.logs.attachments import Attachment
from esewatch.ese.logs.checkpoint import Checkpoint
from esewatch.ese.logs.log_header import LogHeader


def log_text(path: str, size: int, header: LogHeader) -> str:
    """The table of a log; `size` is the file's, in bytes."""
    return _table(path, _log_rows(size, header))


def checkpoint_text(path: str, checkpoint: Checkpoint) -> str:
    """The table of a checkpoint."""
    return _table(path, _checkpoint_rows(checkpoint))


def _table(path: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"  {name:<22}{value}" for name, value in rows]
    return "".join(one_line(line) for line in (path, *lines))


def _log_rows(size: int, header: LogHeader) -> Iterator[tuple[str, str]]:
    expected = header.file_bytes()
    yield "Kind", "transaction log"
    yield "Generation", generation_text(header.generation)
    yield "Created", time_text(header.created)
    yield "Previous log created", time_text(header.previous_created)
    yield "Log signature", signature_text(header.signature)
    yield "Format", header.version
    wrong = "" if size == expected else f", its header says {expected:,}: it is cut or was added to"
    yield "Size", f"{size:,} bytes, sectors of {header.sector_bytes:,}{wrong}"
    yield "Databases' pages", f"{header.page_size:,} bytes"
    yield "Checkpoint then", str(header.checkpoint or "none")
    yield "Circular logging", "on" if header.circular else "off"
    if header.from_reserve:
        yield "Made of a reserve", "yes: the disk was full"
    yield "Folder", header.folder or "none"
    yield from _attached(header.attachments)


def _checkpoint_rows(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    copies = ("ok" if ok else "damaged" for ok in _copies(checkpoint))
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


def _copies(checkpoint: Checkpoint) -> tuple[bool, bool]:
    return checkpoint.header_ok, checkpoint.shadow_header_ok


def _attached(attachments: Iterable[Attachment]) -> Iterator[tuple[str, str]]:
    for attached in attachments:
        yield "Attached", f"{attached.path} (database {attached.database_id})"
