"""What records change in an instance: its life, backups, errors and log files."""
