"""Runbooks: which one helps a database, and how it is shown."""
