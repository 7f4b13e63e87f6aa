"""Replay: history as OpenMetrics files."""
