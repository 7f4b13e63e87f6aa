"""What events of other providers change: failovers, notices, free space."""
