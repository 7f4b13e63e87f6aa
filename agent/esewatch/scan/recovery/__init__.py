"""Whether a copy can be brought up again: its logs, and the verdict."""
