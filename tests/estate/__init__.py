"""A month of an estate of servers: what must be told of it, and what the product tells."""
