"""Verification of one file: every page read, suspect pages read again, results counted."""
