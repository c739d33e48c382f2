# expect
"""Trains a model."""
