"""The history of a database as plain values, gathered once from the state."""
