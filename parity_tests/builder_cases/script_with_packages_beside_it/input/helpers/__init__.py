from .numbers import twice
