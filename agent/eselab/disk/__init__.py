"""Disks, devices and modelled drives: where bytes lie, and how long requests take."""
