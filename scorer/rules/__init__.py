"""The static rules over an artifact: one YAML file each, and the checks that need more than a pattern.

A rule file says what is wrong, why it matters, with an example and a remedy, under a stable code. What it looks for is
either an ast-grep rule (`match`), or the name of a check in one of this package's modules (`check`).
"""
