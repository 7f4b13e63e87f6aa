"""Devices: which one a file lies on, and the lock that allows one scan a device."""
