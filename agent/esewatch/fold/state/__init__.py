"""The state, and the values that it is made of."""
