from __future__ import annotations

import math

total = 0


class Config:
    depth = 1
    width = depth * 2


def build(norm):
    norm = norm or math.sqrt
    values = [value for value in range(3)]
    pick = lambda value: value + later
    later = 1
    for index in range(3):
        try:
            found = index
        except NameError:
            found = missing_name
    return norm, values, pick, found, __file__, later


def add():
    global total
    total += 1
    count = 0
    count += 1

    def inner():
        nonlocal count
        count += 1
        return inner

    return inner


def typed(x: Missing) -> Missing:
    return x


def loop(items):
    for item in items:
        previous = item if item else previous
    return previous
