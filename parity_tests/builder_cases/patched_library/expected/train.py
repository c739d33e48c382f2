"""A recipe that patches a library: before and after stay where they are.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import json


# ==== pkg/patches.py ====

original = json.dumps


def patched(value):
    return f"patched {original(value)}"


def apply():
    json.dumps = patched


def undo():
    json.dumps = original


# ==== pkg/train.py ====

before = json.dumps([1])
apply()
after = json.dumps([1])
undo()


# ==== pkg/more.py ====

text = json.dumps([2])
json.dumps = lambda value: "for good"


# ==== pkg/train.py (continued) ====


def main():
    print(before, after, text, json.dumps([1]))


if __name__ == "__main__":
    main()
