"""esewatch: watches the online maintenance of ESE databases."""

__version__ = "0.1.0"
