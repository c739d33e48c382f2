"""A program of several commands: the one that is launched stays."""

import argparse


def train(args):
    print("train", args.seed, args.lr, args.steps, args.norm)
    if args.log:
        print("logged")


def evaluate(args):
    print("evaluate", args.checkpoint)


def build_parser():
    parser = argparse.ArgumentParser(description="what people read")
    parser.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(dest="command", required=True, help="what to do")
    one = commands.add_parser("train", help="train a model")
    one.add_argument("--lr", type=float, default=0.1)
    one.add_argument("--steps", type=int, default=4)
    one.add_argument("--norm", type=str.lower, choices=["rms", "layer"], default="layer")
    one.add_argument("--log", action="store_true")
    other = commands.add_parser("evaluate", help="evaluate a checkpoint")
    other.add_argument("checkpoint")
    other.add_argument("--steps", type=int, default=1)
    return parser


def main():
    args = build_parser().parse_args()
    if args.command == "train":
        train(args)
    elif args.command == "evaluate":
        evaluate(args)


if __name__ == "__main__":
    main()
