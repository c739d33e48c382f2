import argparse
import sys
from sys import argv as words

parser = argparse.ArgumentParser()  # expect
first = sys.argv[1]  # expect
last = words[-1]  # expect
