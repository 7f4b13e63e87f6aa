"""Event log channels: deduplication, the order of records, clocks that were wrong."""
