"""Alone, in a contest that asks for no other file."""
