"""The page_scan source: scans of database files inside their windows."""
