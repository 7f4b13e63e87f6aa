"""The event catalogue: every ESE event the agent knows, one row each, a file a subject."""
