"""Differential fuzzing of the builder: random packages, run as they are and as the artifact that is built of them.

    names         what generated code can read where it stands
    expressions   numbers, written from everything in sight
    statements    function bodies: every statement that binds, hides, unbinds
    definitions   functions, classes, decorators, dataclasses, enumerations
    packages      modules, sub-packages, imports of every kind, the config, the entry
    knobs         variables, options and module constants, and code that uses, moves, changes and folds what they give
    running       one program both ways: output, exception, exit code, final namespaces
    reduce        a failing program made small

`python -m parity_tests.fuzz` runs many programs and says how many came out the same.
"""
