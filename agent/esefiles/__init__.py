"""esefiles: files of the ESE engine, verified without it: pages, headers, logs, structure."""

__version__ = "0.1.0"
"""Of the wheel, and so of its other packages, too."""
