"""Options that are set on an object that is there: it is no result of the parser, which the artifact has not."""

import argparse
from types import SimpleNamespace

config = SimpleNamespace(depth=2)
parser = argparse.ArgumentParser()
parser.add_argument("--depth", type=int, default=1)
parser.parse_args(namespace=config)


def main():
    print(config)


if __name__ == "__main__":
    main()
