"""State changes by events of other providers: failovers, notices, free space."""
