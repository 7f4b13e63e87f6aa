"""Logs in text form: events of every kind, eseutil, NTBACKUP, SQL Server."""
