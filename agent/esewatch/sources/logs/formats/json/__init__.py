"""Events as JSON, whoever writes them."""
