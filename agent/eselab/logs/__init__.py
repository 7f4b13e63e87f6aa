"""What the engine writes of itself: event log, counter log, and the truth to compare with."""
