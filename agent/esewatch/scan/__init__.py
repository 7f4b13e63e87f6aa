"""Page verification: which files lie where, in which order they are read, what their pages say."""
