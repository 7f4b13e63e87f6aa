"""The commands `scan`, `check` and `header`."""
