"""Experiments that put what comes out here beside the figures of published articles."""
