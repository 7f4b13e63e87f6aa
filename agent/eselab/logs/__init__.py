"""Output of the engine: event log, counter log, and the ground truth to compare with."""
