"""`esewatch events`, `counters` and `report`: inputs named on the command line."""
