"""Metric families made of the state, a file a subject."""
