"""Devices: the device of a file, and the lock that allows one scan a device."""
