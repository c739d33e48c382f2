"""Reads TOML documents of every kind of value."""

from __future__ import annotations

import datetime

import tomli

DOCUMENT = '''
# a comment
title = "TOML \\u00e9 \\t example"
literal = 'C:\\path'
multi = """
two
lines \\
  joined"""
raw = \'\'\'
first
second\'\'\'
integers = [1, +2, -3, 1_000, 0xDEAD_beef, 0o755, 0b1101]
floats = [1.0, -0.5e3, 6.626e-34, inf, -inf]
flags = { yes = true, no = false }
dotted.key.name = 1
"quoted key" = "x"

[owner]
born = 1979-05-27T07:32:00Z
offset = 1979-05-27T00:32:00.5-07:00
local = 1979-05-27T07:32:00
date = 1979-05-27
time = 07:32:00.999999

[[products]]
name = "Hammer"

[[products]]
name = "Nail"
[products.size]
width = 2
'''
WRONG = [
    "a = 1\na = 2",
    "a = ",
    "[a]\n[a]",
    'a = "\\q"',
    "a = 01",
    "a = [1,",
    "= 1",
    "a = 2020-13-01",
    "a.b = 1\na = 2",
]


def main() -> None:
    found = tomli.loads(DOCUMENT)
    for key, value in found.items():
        print(key, repr(value))
    print(tomli.loads("x = 3.14159265358979", parse_float=str))
    for text in WRONG:
        try:
            print(tomli.loads(text))
        except tomli.TOMLDecodeError as error:
            print(type(error).__name__, error, error.lineno, error.colno)
    try:
        tomli.loads(b"a = 1")  # type: ignore[arg-type]
    except TypeError as error:
        print(error)
    print(found["owner"]["born"] == datetime.datetime(1979, 5, 27, 7, 32, tzinfo=datetime.timezone.utc))


if __name__ == "__main__":
    main()
