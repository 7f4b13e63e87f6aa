"""The structure of a database: nodes of a page, trees, space, catalogue, long values."""
