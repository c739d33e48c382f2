from .state import see

NAME = see("inner")
