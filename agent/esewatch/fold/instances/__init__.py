"""State changes of an instance by records: its life, backups, errors and log files."""
