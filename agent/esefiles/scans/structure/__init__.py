"""The structure of a database file, checked without the engine."""
