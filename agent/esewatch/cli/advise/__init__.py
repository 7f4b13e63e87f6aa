"""`esewatch advise`."""
