"""package with knobs"""
from pkg import model, cli
from pkg.knobs import NAMES, SIZE, OPTS
from .model import Model, attention
def load_for_eval(checkpoint_path, device): return Model()
def main():
    m = Model()
    print(m.layers, m.opt, m.deep, attention(), NAMES, SIZE, OPTS, cli.args.steps, cli.options().opt)
    if cli.args.steps > 50: print("long")
    else: print("short")
    NAMES.append("z")
    print(len(NAMES), "three" if len(NAMES) == 3 else "?")
if __name__ == "__main__":
    main()
