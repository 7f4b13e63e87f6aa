"""Windows event logs in their binary form (.evtx)."""
