import argparse
import time


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    args.began = time.time()
    args.fast = True
    return args


def parse_few():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_known_args()[0]
    for name in ("late", "later"):
        setattr(args, name, len(name))
    return args


def main():
    args = parse()
    match vars(args)["fast"]:
        case True:
            print("fast", args.steps)
        case _:
            print("slow", args.steps)
    print(hasattr(args, "began"), hasattr(args, "ended"), getattr(args, "fast", None), "began" in args)
    few = parse_few()
    if hasattr(few, "late"):
        print("late", getattr(few, "later", 0), few.steps)


if __name__ == "__main__":
    main()
