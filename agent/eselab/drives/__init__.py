"""Modelled drives: spindles, a LUN, its write-back cache."""
