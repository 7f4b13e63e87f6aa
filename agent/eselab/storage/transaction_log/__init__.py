"""The transaction log: changes of pages, generations of the log, checkpoints, and recovery."""
