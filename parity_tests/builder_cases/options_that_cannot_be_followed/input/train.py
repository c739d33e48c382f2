"""soundness 4: several parsers, sub-commands, config objects"""
import argparse, os, sys, json, dataclasses

@dataclasses.dataclass
class Conf:
    depth: int = 4
    lr: float = 0.1
    name: str = os.environ.get("NAME", "n")

def get_conf(argv):
    p = argparse.ArgumentParser()
    for f in dataclasses.fields(Conf):
        p.add_argument("--" + f.name, type=f.type, default=f.default)
    return Conf(**vars(p.parse_args(argv)))

def simple(argv=None):
    p = argparse.ArgumentParser(allow_abbrev=False)
    p.add_argument("--depth", type=int, default=int(os.environ.get("DEPTH", 2)))
    p.add_argument("--mode", default="train", choices=("train", "eval"))
    known, rest = p.parse_known_args(argv)
    if rest:
        print("ignored", rest)
    return known

def load_for_eval(checkpoint_path, device): return None

def main():
    o = simple()
    if o.mode == "eval":
        print("eval"); return
    print(o.depth, "deep" if o.depth > 3 else "flat")
    c = get_conf([])
    c.depth += 1
    print(c)

if __name__ == "__main__":
    main()
