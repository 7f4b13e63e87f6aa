"""The fold and the state."""
