"""Window advice: the evidence, the rules, the length (semantics.md 6)."""
