"""argv by hand"""
import sys
from sys import argv
OVERRIDES = dict(arg.lstrip("-").split("=") for arg in sys.argv[1:] if "=" in arg)
DEPTH = int(OVERRIDES.get("depth", 4))
def main(argv_=None):
    args = sys.argv[1:] if argv_ is None else argv_
    args = list(args)
    print(len(args), args, DEPTH, argv[1:], "deep" if DEPTH > 4 else "flat")
    print("fast" if "--fast" in sys.argv else "slow")
    i = 1
    while i < len(sys.argv):
        if sys.argv[i] == "--fast": print("f")
        i += 1
    for a in sys.argv[1:]:
        print(a)
if __name__ == "__main__":
    main()
