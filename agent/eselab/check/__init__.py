"""Read-only consistency check of the engine's databases."""
