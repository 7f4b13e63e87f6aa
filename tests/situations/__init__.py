"""Twelve real situations: what servers log in them, and what must be said of it."""
