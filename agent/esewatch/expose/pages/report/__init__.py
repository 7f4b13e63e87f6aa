"""The report of a pile of logs, as one page."""
