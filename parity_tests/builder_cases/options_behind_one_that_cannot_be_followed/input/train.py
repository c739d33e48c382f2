"""One option cannot be followed: it alone is told, not all that come behind it."""

import argparse
import time

NAMES = {time.strftime("%Y"): 1}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", choices=sorted(NAMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--depth", type=int, default=0)
    args = parser.parse_args()
    print(args.seed, args.depth)


if __name__ == "__main__":
    main()
