import argparse
import time

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=3)
if time.time() > 0:
    parser.add_argument("--late", type=int, default=1)
args = parser.parse_args()


def main():
    print(args.steps)
