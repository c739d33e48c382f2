import argparse
from .knobs import DEPTH
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=DEPTH * 10)
parser.add_argument("--opt", default="adam")
args = parser.parse_args()
def options():
    return args
