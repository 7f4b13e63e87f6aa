"""Time, plans and programs: what every part of the engine is given."""
