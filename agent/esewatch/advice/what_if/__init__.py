"""What-if: another window, throttle or size, simulated with the database's own history."""
