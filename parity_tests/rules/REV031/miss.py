import argparse
import sys


def main(arguments):
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    arguments = parser.parse_args()
    print("start")
    sys.exit(main(arguments))
