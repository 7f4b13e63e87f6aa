"""Event log channels: duplicates, the order of records, clocks that were wrong."""
