"""The storage engine: pages, B+trees, log, recovery."""
