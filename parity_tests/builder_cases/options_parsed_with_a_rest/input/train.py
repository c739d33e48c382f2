import argparse


def yes_or_no(text):
    if text.lower() in {"yes", "true"}:
        return True
    if text.lower() in {"no", "false"}:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither yes nor no")


def build_parser():
    parser = argparse.ArgumentParser("train", None, "Trains.")
    parser.add_argument("--layers", type=lambda text: [int(x) for x in text.split(",")], default=[1])
    parser.add_argument("--dry", type=yes_or_no, nargs="?", const=True, default=True)
    parser.add_argument("-v", "--verbose", action="count", default=0)
    return parser


def read(argv=None):
    args, unknown = build_parser().parse_known_args(argv)
    if unknown:
        print("not known:", unknown)
    return args


def main(argv=None):
    args = read(argv)
    if args.dry:
        print("dry")
    else:
        print("layers", args.layers)
    if args.verbose > 1:
        print("said at length")


if __name__ == "__main__":
    main()
