import argparse
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Config:
    depth: int = 4
    use_ema: bool = False  # expect


class Other(NamedTuple):
    width: int = 4
    dropout: float = 0.0  # expect


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
parser.add_argument("--use-fp8", action="store_true")  # expect
parser.add_argument("-w", "--warm-up", dest="warm", type=int)  # expect


def main(args, config, other):
    return args.steps, config.depth, other.width
