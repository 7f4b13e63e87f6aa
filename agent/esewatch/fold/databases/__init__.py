"""State changes of a database by records: events, bad pages, checks of its file."""
