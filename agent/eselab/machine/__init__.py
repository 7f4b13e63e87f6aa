"""Machines: instances at work, passive copies, users, faults, and the commands that run them."""
