"""`esewatch check`."""
