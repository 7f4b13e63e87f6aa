"""Pages for people, and the values that their templates show."""
