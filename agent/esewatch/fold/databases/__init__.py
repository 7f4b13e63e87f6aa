"""What records change in a database: events, bad pages, checks of its file."""
