"""The builder: flattens a recipe of many modules into one readable train.py, its knobs frozen, its output proven."""

__version__ = "0.1.0"
