"""Whether a database of the engine is sound; nothing is changed."""
