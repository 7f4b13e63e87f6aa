"""Files that are followed: found by pattern, identified by content, read as they grow."""
