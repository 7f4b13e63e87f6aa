"""`esewatch run`: the daemon, its signals, and the service of Windows."""
