"""Disks and devices: where bytes lie, and how long requests take."""
