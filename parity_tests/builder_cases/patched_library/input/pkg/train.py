"""A recipe that patches a library: before and after stay where they are."""
import json

from . import patches

before = json.dumps([1])
patches.apply()
after = json.dumps([1])
patches.undo()
from . import more


def main():
    print(before, after, more.text, json.dumps([1]))


if __name__ == "__main__":
    main()
