"""Source `kafka`: events from topics, one state and journal for each partition."""
