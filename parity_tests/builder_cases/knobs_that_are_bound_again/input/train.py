"""x"""
import argparse, os, sys
from dataclasses import dataclass

def _env_int(name, default):
    return int(os.environ.get(name, default))

def load_for_eval(checkpoint_path, device):
    return None

# 1 rebinding through global
N = _env_int("N", 3)
def bump():
    global N
    N += 1

# 2 mutable list knob, changed by function
L = [_env_int("L", 1)]
def addl():
    L.append(2)

# 3 loop rebinding
M = _env_int("M", 2)
for i in range(2):
    M = M + 1

# 4 dict mutated at import
D = {"a": _env_int("DA", 1)}
D["a"] = 7
# 5 alias
E = D
E["b"] = 8

# 6 conditional unknown
K = _env_int("K", 1)
if len(sys.path) > 0:
    K = 5

# 7 try
try:
    T = _env_int("T", 1)
    T2 = int("x")
except ValueError:
    T = 99

# 8 augmented by function default
def f(x=_env_int("FX", 4), *, y=N):
    if x > 3: return "big"
    return "small"

# 9 nested function nonlocal
def outer():
    a = _env_int("A", 1)
    def inner():
        nonlocal a
        a = 50
    inner()
    if a > 10: return "ten"
    return "one"

# 10 loop var shadows
def g():
    n = _env_int("GN", 2)
    for n in range(3): pass
    if n == 2: return "two-end"
    return n

# 11 args mutated via alias
def h():
    p = argparse.ArgumentParser()
    p.add_argument("--q", type=int, default=1)
    p.add_argument("--r", type=int, default=1)
    args = p.parse_args()
    other = args
    other.q = 42
    d = vars(args)
    d["r"] = 43
    if args.q == 42 and args.r == 43: return "mut"
    return "orig"

# 12 while
def w():
    k = _env_int("WK", 3)
    while k:
        k -= 1
    if k: return "notzero"
    return "zero"

# 13 walrus
def wal():
    z = _env_int("Z", 1)
    if (z := z + 1) == 2: return "walrus2"
    return "no"

# 14 del
def dele():
    z = _env_int("Z2", 1)
    del z
    try:
        return z
    except UnboundLocalError:
        return "unbound"

# 15 call args different
def par(kind):
    if kind == 1: return "k1"
    return "k2"

# 16 exec-less: function reassigned
def alt(): return _env_int("ALT", 1)
alt = lambda: 77

# 17 class attribute vs instance
@dataclass(frozen=True)
class C:
    a: int = _env_int("CA", 1)
    b: int = 2
CFG = C(b=_env_int("CB", 5))
object.__setattr__(CFG, "a", 1000)

def main():
    bump(); addl()
    print(N, L, M, D, E, K, T)
    if N == 3: print("N3")
    else: print("N4")
    if len(L) == 1: print("L1")
    else: print("L2")
    if M == 2: print("M2")
    else: print("M!")
    if D["a"] == 1: print("D1")
    else: print("D7")
    print("K5" if K == 5 else "K1", "T99" if T == 99 else "T1")
    print(f(), f(2), outer(), g(), h(), w(), wal(), dele(), par(_env_int("P", 1)), par(2), alt())
    print(CFG.a, "big" if CFG.a > 10 else "small")

if __name__ == "__main__":
    main()
