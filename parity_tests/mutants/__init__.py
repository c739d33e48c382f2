"""Mutation of the recipe: one small change of its code each, which the comparison with the clean artifact must find.

    mutators    the kinds of change, as edits of text at places of the syntax tree
    places      where the recipe can be changed so that a run may show it, and which changes a session tries
    running     the clean build and its receipts, a mutant's local lane, and what the comparison says of it
    listed      `equivalent.yaml`: changes that no run of this configuration can show, each with the reason

`python -m parity_tests.mutants` tries many and says how many were killed, by which finding, and whether at their place.
"""
