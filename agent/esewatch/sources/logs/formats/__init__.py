"""Decoders of event texts, one file a format. `event_stream.py` chooses by content."""
