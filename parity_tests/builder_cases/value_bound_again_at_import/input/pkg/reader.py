from .state import width

early = width
