"""Sources of a running Windows: its event log channels and its counters."""
