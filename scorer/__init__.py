"""The judge: contest profiles, static rules, lanes, trusted scoring, comparison, reports."""

__version__ = "0.1.0"
