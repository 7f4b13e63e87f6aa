"""The daemon: sources in, state kept, snapshots out."""
