"""Views: what people, Prometheus and scripts see of the state."""
