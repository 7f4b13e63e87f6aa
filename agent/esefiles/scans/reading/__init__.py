"""Reading large files past the page cache of the operating system."""
