"""Values and measures that every judgement shares; they know nothing of the history."""
