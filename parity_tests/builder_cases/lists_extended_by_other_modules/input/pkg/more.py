from .registry import KERNELS
from .registry import NAMES as names

KERNELS["rope"] = 1
KERNELS |= {"norm": 2}
names += ["more"]
names[0] = "first"
COUNT = len(names) + len(KERNELS)
