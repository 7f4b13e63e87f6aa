"""Findings: one file a reason why a person should look into a database."""
