"""`esewatch header`."""
