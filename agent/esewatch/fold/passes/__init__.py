"""Passes of maintenance, derived from kept transitions (semantics.md 2)."""
