"""Metrics: the catalogue of their rows, the families made of the state, the snapshot."""
