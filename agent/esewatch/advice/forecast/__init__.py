"""Forecasts: when a pass will be done, and the verdict that follows."""
