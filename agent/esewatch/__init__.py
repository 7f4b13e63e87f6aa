"""esewatch: watches the online maintenance of ESE databases."""
