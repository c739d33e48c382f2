"""x

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import argparse
import sys
from dataclasses import dataclass


# ==== train.py ====

# 1 rebinding through global
N = 3
def bump():
    global N
    N += 1

# 2 mutable list knob, changed by function
L = [1]
def addl():
    L.append(2)

# 3 loop rebinding
M = 2
for i in range(2):
    M = M + 1

# 4 dict mutated at import
D = {"a": 1}
D["a"] = 7
# 5 alias
E = D
E["b"] = 8

# 6 conditional unknown
K = 1
if len(sys.path) > 0:
    K = 5

# 7 try
try:
    T = 1
    T2 = int("x")
except ValueError:
    T = 99

# 8 augmented by function default
def f(x=4, *, y=N):
    if x > 3: return "big"
    return "small"

# 9 nested function nonlocal
def outer():
    a = 1
    def inner():
        nonlocal a
        a = 50
    inner()
    if a > 10: return "ten"
    return "one"

# 11 args mutated via alias
def h():
    args = argparse.Namespace(q=1, r=1)
    other = args
    other.q = 42
    d = vars(args)
    d["r"] = 43
    if args.q == 42 and args.r == 43: return "mut"
    return "orig"

# 13 walrus
def wal():
    z = 1
    if (z := z + 1) == 2: return "walrus2"
    return "no"

# 14 del
def dele():
    z = 1
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
def alt(): return 1
alt = lambda: 77

# 17 class attribute vs instance
@dataclass(frozen=True)
class C:
    a: int = 1
    b: int = 2
CFG = C(b=7)
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
    print(f(), f(2), outer(), "two-end", h(), "zero", wal(), dele(), "k1", par(2), alt())
    print(CFG.a, "big" if CFG.a > 10 else "small")

if __name__ == "__main__":
    main()
