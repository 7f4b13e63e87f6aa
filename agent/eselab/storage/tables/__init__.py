"""Parts of tables: records, the catalog of them, the space of each tree."""
