"""Performance counters of ESE: their names, what they feed, how to make hidden ones visible."""
