"""The flush map of a database (.jfm): what the engine wrote last, page by page."""
