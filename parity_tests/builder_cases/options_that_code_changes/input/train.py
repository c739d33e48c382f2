"""soundness 3: flows and options"""
import argparse, os, sys
from types import SimpleNamespace

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--a", type=int, default=1)
    parser.add_argument("--b", type=str, default="x")
    parser.add_argument("--c", type=float, default=0.5)
    parser.add_argument("--d", action="append", default=[])
    parser.add_argument("--e", type=int, nargs=2, default=(1, 2))
    parser.add_argument("-f", "--flag", dest="other_name", action="store_true")
    parser.add_argument("--no-g", dest="g", action="store_false")
    parser.add_argument("--v", "-v", action="count", default=0)
    parser.add_argument("pos", nargs="?", default="p")
    return parser.parse_args()

class Trainer:
    def __init__(self, args):
        self.args = args
        self.a = args.a
        self.opts = vars(args)
    def run(self):
        self.args.a += 1
        if self.args.a > self.a:
            return "grew"
        return "same"

def mutate(ns):
    ns.b = "mutated"

def setit(ns, name, value):
    setattr(ns, name, value)

def outer(args):
    def inner():
        return args.c * 2
    return inner

def reassign(args):
    args = SimpleNamespace(a=100)
    if args.a == 1: return "orig"
    return "new"

def loop(args):
    out = []
    for args.a in range(3):
        out.append(args.a)
    return out

def main():
    args = parse()
    print(Trainer(args).run(), args.a)
    if args.a == 1: print("a1")
    else: print("a2")
    mutate(args)
    if args.b == "x": print("bx")
    else: print("b?")
    setit(args, "c", 9.0)
    if args.c == 0.5: print("c.5")
    else: print("c9")
    print(outer(args)(), reassign(args), loop(args), args.a)
    args.d.append(5)
    if args.d: print("d", args.d)
    else: print("nod")
    a, b = args.e
    print(a, b, args.other_name, args.g, args.v, args.pos)
    with open(os.devnull, "w") as args.handle:
        pass
    ns = argparse.Namespace(**vars(args), extra=1)
    ns.g = not ns.g
    print(ns.g, args.g)
    del args.v
    print(hasattr(args, "v"), "v" in args)

if __name__ == "__main__":
    main()
