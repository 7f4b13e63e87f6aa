"""`esewatch scan`."""
