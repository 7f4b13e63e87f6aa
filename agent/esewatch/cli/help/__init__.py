"""Help for a person at the prompt: usage errors, completion, runbooks."""
