"""A second reading of semantics.md, written from its text, that the product is compared with."""
