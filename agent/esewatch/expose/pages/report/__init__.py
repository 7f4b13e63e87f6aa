"""The report of many logs, as one page."""
