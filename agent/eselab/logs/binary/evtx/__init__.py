"""Event logs as Windows keeps them (.evtx)."""
