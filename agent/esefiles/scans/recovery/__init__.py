"""Recovery of a copy: its logs, and the verdict."""
