"""The alerts of an estate: those that must fire, those that do, and the messages of them."""
