"""What tables are made of: records, the catalog of them, the space of each tree."""
