"""A command that is a function: what is called is not written anywhere."""

import argparse


def train(args):
    print("train", args.seed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("train").set_defaults(run=train)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
