"""Alert quality: months of logs, replayed, and which alerts would have fired when."""
