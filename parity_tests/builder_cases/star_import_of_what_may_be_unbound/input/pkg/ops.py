import sys

if len(sys.path) > 1000:
    scale = 2
