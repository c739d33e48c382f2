"""second"""
import argparse, os, sys, math, functools
import contextlib
from os import environ as E, getenv as G
from collections import OrderedDict

ENV = os.environ
get = os.environ.get
TRUE = {"1", "true"}
PRESETS = {"small": {"depth": 2, "lr": 0.1}, "big": {"depth": 8, "lr": 0.3}}
PRESET = get("PRESET", "small")
P = PRESETS[PRESET]
DEPTH = int(ENV.get("DEPTH", P["depth"]))
LR = float(E.get("LR", PRESETS[PRESET]["lr"]))
PRESETS["big"]["depth"] = 100
FLAG = G("FLAG", "0").lower() in TRUE
LATE = os.environ.get("LATE") or "fallback"
NAMES = tuple(s.strip() for s in os.environ.get("NAMES", "a, b").split(","))
RATIO = DEPTH / 3
POW = LR ** 2
MODE = os.environ.get("MODE", "x")

@functools.lru_cache(maxsize=None)
def cached(name):
    return int(os.environ.get(name, 3))

def noisy(name):
    print("reading", name)
    return 1

class Model:
    depth = DEPTH
    width = DEPTH * 2 if FLAG else DEPTH * 3
    def __init__(self, n=DEPTH):
        self.n = n
        if DEPTH > 4:
            self.kind = "deep"
        else:
            self.kind = "flat"
    def run(self, flag=FLAG):
        return [x for x in range(self.n) if FLAG or x % 2]

def build(parser):
    g = parser.add_argument_group("g")
    for name, d in (("alpha", 1), ("beta", DEPTH)):
        g.add_argument(f"--{name}", type=int, default=d)
    parser.add_argument("--act", choices=["relu", "gelu"], default="relu")
    parser.add_argument("--flash", action=argparse.BooleanOptionalAction, default=FLAG)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dims", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scale", type=lambda s: float(s) * 2, default=1.0)
    parser.add_argument("--tag", default=None, help="x" + MODE)
    return parser

def parse(argv=None):
    p = build(argparse.ArgumentParser(description=__doc__))
    a = p.parse_args(argv)
    if a.tag is None:
        a.tag = f"d{DEPTH}-{a.act}"
    if a.quick and a.beta > 100:
        p.error("no")
    return a

def step(cfg, k):
    if cfg.flash:
        return k * 2
    elif cfg.act == "gelu":
        return k * 3
    return k * 4

def load_for_eval(checkpoint_path, device):
    return Model()

def main():
    args = parse()
    args2 = args
    print(DEPTH, LR, FLAG, LATE, NAMES, RATIO, POW, PRESETS)
    print(cached("CA"), cached("CB"), noisy("z"))
    m = Model()
    print(m.kind, m.run(), Model.width, Model.depth)
    print(step(args, 1), step(args2, 2), args.tag, args.dims, args.scale, args.alpha, args.beta)
    total = 0
    for i in range(args.alpha + 2):
        total += i * LR if args.quick else i
    print(total, args.quick and "q" or "nq", "set" if "MODE" in os.environ else "unset")
    if (v := os.environ.get("WAL")) is not None:
        print("wal", v)
    try:
        w = int(os.environ.get("MISSING", "5"))
    except KeyError:
        w = -1
    print(w, {"x": "X", "y": "Y"}[MODE], {"x": step, "y": parse}[MODE].__name__)
    print(f"{DEPTH=} {MODE!r} {LR:.3f} {args.act}")
    print(sys.argv[1:] == [] or "args")

if __name__ == "__main__":
    main()
