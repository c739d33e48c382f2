"""Enters functions by their names."""

NAMES = []


def register(function):
    NAMES.append((function.__name__, function(1)))
    return function
