"""Events of the catalogue made from what a log holds: positional strings, or rendered text."""
