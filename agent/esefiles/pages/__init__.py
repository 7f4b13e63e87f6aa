"""Database pages and headers: layout, checksums, kernels that verify many pages at once."""
