import argparse
from dataclasses import dataclass


@dataclass
class Config:
    depth: int = 4
    kept: int


class Model:
    width: int = 4


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
parser.add_argument("--no-clip", dest="clip", action="store_false")
parser.add_argument("--version", action="version")


def main(args, config):
    return args.steps, config.depth, args.clip
