"""`esewatch doctor`."""
