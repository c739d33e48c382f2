# profile: trainium-frontier-phase2
"""Alone, where the contest asks for inference.py too."""
# expect at line 1
