"""Knowledge of ESE, as data and pure functions on bytes and strings. No I/O."""
