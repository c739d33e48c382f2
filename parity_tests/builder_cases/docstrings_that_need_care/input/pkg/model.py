'''A module's """docstring""" with \\ and a # in it.'''


def build():
    r"""Of a function: \d."""
