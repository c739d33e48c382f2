from .state import see

see("broken")
if len("ab") == 2:
    raise ImportError("always")
