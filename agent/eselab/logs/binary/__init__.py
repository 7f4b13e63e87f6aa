"""Logs as Windows keeps them: the counters as a binary performance log, the events as EVTX."""
