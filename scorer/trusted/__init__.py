"""Trusted scoring: the submission's model in a process of its own, targets and sums on the judge's side.

`judge.score` needs torch, which takes seconds to import; the other modules here that reports read do not.
"""
