from .knobs import *
from . import knobs
from .cli import args
import pkg.knobs as cfg

if FLASH:
    def attention(): return "flash"
else:
    def attention(): return "plain"

class Model:
    def __init__(self):
        self.layers = [f"{cfg.KIND}{i}" for i in range(knobs.DEPTH)]
        if args.opt == "adam":
            self.opt = "A"
        else:
            self.opt = "S"
        if knobs.FLASH and cfg.DEPTH > 2:
            self.deep = True
        else:
            self.deep = False
