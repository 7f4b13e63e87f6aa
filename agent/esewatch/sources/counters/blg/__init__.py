"""Binary performance logs (.blg): trace files whose events carry counters."""
