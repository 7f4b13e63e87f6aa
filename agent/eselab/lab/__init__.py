"""Experiments that compare the results of the lab with the figures of published articles."""
