"""Simulated changes: another window, throttle or size, with the database's own history."""
