"""`esewatch config`, `forget` and `ack`."""
