"""Identity: which computer, instance, device and copy a name means (semantics.md 1)."""
