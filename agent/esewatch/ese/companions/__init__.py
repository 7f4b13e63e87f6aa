"""Companion events: what other providers log about ESE databases, one row each."""
