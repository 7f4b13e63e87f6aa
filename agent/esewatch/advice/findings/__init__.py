"""Findings: one file for each reason why a person should attend to a database."""
