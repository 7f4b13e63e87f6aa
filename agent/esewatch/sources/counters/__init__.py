"""Performance counters: perfmon logs, exporters, the disks of this machine."""
