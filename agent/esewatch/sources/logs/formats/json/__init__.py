"""Events as JSON: by whom they are written, and how lines of one shape are read fast."""
