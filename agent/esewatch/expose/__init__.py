"""Views of the state for people, Prometheus and scripts."""
