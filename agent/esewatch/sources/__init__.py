"""Sources: one file per kind of input, each turning outside bytes into records."""
