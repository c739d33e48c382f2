import fileinput
import getopt
import optparse
import sys
from sys import argv as words


def main():
    print(optparse.OptionParser(), getopt.getopt([], ""), fileinput.input(), sys.orig_argv, words, sys.argv[1:])


if __name__ == "__main__":
    main()
