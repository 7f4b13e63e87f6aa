"""Catalogue events from the content of a log: positional strings, or rendered text."""
