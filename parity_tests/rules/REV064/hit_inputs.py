"""Standard input, and files by modules that read lines or settings."""

import fileinput
import linecache
import sys
from logging.config import fileConfig

DEPTH = int(input())  # expect
WIDTH = int(sys.stdin.readline())  # expect
for line in fileinput.input("knobs.txt"):  # expect
    print(line)
print(linecache.getlines("weights.txt"))  # expect
fileConfig("logging.ini")  # expect
