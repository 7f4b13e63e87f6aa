"""Page verification: location and order of the files, reading, checks of their pages."""
