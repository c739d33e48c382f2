import sys

print("done", file=sys.stderr)
