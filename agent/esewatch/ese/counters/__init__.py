"""Performance counters of ESE: names, the series they feed, how to make hidden ones visible."""
