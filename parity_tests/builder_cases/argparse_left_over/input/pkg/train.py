import argparse
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    print(parser.parse_args(), len(sys.argv))


if __name__ == "__main__":
    main()
