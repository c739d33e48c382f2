from .state import see

see("chosen")
CHOICE = "chosen"
