"""Running totals of the tasks of one instance, behind its performance counters."""

import msgspec


class Counters(msgspec.Struct):
    """Running totals since the process started, counted where the work happens."""

    defrag_pages_read: int = 0
    """Pages that online defragmentation caused to be read from disk."""
    defrag_pages_freed: int = 0
    defrag_pages_dirtied: int = 0
    """Clean pages that it changed."""
    defrag_log_bytes: int = 0
    scan_pages_read: int = 0
    """Pages that the checksum scan of online maintenance read."""
    scan_pages_zeroed: int = 0
    """Pages that it changed because it zeroes."""
