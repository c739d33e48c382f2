"""Modules over which everything can be reached, asked in a way that hides what for."""
import builtins
import os
import sys

system = sys


def main(name="modules"):
    print(getattr(sys, "modules"), getattr(os, "environ"))
    print(getattr(sys, name), vars(os), builtins.__dict__["eval"])
    print(getattr(sys, "maxsize"))  # this one is harmless


if __name__ == "__main__":
    main()
