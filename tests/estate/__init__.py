"""A month of an estate of servers: what must be reported of it, and what the product tells."""
