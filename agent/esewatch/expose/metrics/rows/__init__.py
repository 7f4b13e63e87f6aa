"""The rows of the metric catalogue, a file a subject."""
