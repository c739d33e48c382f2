import argparse
import os


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=float(os.environ.get("LR", "0.1")))
    args = parser.parse_args()
    print(args.lr, os.environ.get("A"))


if __name__ == "__main__":
    main()
