"""A script whose main block is a small program of its own: nothing that the hooks need is bound there."""
import os
import sys

from . import helpers


def main():
    print("three")
    return 3


def describe(value):
    return f"{value} of {limit}"


if __name__ == "__main__":
    import json

    rank = int(os.environ.get("RANK", 0))
    limit = 4
    value = main()
    if rank >= 8:
        for word in ("done", "saved"):  # both
            print(helpers.shout(word), describe(value))
    try:
        result = json.dumps({"value": value})
    finally:
        assert value < limit
    sys.exit(0 if result else 1)
