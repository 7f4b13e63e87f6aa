"""The counters of the engine as a binary performance log."""
