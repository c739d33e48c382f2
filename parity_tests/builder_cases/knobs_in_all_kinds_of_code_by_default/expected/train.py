"""soundness 2

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""

import threading
from dataclasses import dataclass, replace


# ==== train.py ====

DEPTH = 3

# default captured at definition
K = 1
def cap(x=K): return x
K = K + 10

class Base:
    mode = "b"
    def pick(self): return self.mode
class Derived(Base):
    def pick(self): return "deep-" + self.mode
    size = DEPTH
    sizes = [x for x in range(size)]

@dataclass(frozen=True)
class Cfg:
    a: int = 1
    b: int = 0
    tags: tuple = ("x",)
    @property
    def twice(self): return self.a * 2
C = Cfg(b=5)
C2 = replace(C, a=50)

def choose(cfg):
    if cfg.a > 10: return "big"
    return "small"

def rec(n):
    if n <= 0: return []
    return [n] + rec(n - 1)

def gen(flag):
    if flag:
        yield 1
    yield 2

def closure():
    fs = []
    for i in range(3):
        fs.append(lambda: i + DEPTH)
    return [f() for f in fs]

def shadow(DEPTH):
    if DEPTH == 99: return "ninety-nine"
    return "other"

def local_shadow():
    DEPTH = 7
    if DEPTH == 7: return "seven"
    return "x"

def late():
    global LATE
    LATE = 4
def use_late():
    return "four" if LATE == 4 else "no"

state = {"n": 1}
def inc():
    state["n"] += 1
    return state["n"]
def check():
    return "one" if state["n"] == 1 else "more"

LIST = [1, 2]
LIST.append(3)
def total(): return "six" if sum(LIST) == 6 else "other"
def grow(): LIST.append(9)

def kw(**k): return k.get("depth", 0)
def star(*a): return len(a)

def excepts():
    try:
        v = 1
        w = 10 // (v - 1)
    except ZeroDivisionError as e:
        w = -1
    finally:
        v = 0
    return w, v

def early(flag=True):
    if flag: return "early"
    x = 1
    return x

def chained():
    return True, not DEPTH, "d", 3

def whil():
    n = DEPTH
    out = 0
    while n > 0:
        n -= 1
        out += 1
        if n == 1: break
    else:
        out = -1
    return out

def nested_if():
    r = []
    # deep
    r.append("a")
    if K > 100:
        r.append("never")
    else:
        r.append("else")
    return r

def match_it():
    return "three"

def multi(a, b=2, *, c=None):
    if b == 2: a += 1
    if c is None: a += 10
    return a

def main():
    print(cap(), K, Base().pick(), Derived().pick(), Derived.sizes)
    print(C, C2, choose(C), choose(C2), C.twice)
    print(rec(DEPTH), list(gen(False)), list(gen(True)), closure(), shadow(99), shadow(DEPTH), local_shadow())
    late(); print(use_late(), check(), inc(), check(), total()); grow(); print(total())
    print(kw(depth=DEPTH), star(*range(DEPTH)), excepts(), early(), early(False), chained(), whil(), nested_if(), match_it())
    print(multi(1), multi(1, c=2), multi(1, 3))
    t = threading.Thread(target=grow); t.start(); t.join(); print(len(LIST))
    d = {"depth": DEPTH, **({})}
    print(d, [*([])], f"{DEPTH:>4}|off|{K!r}")
    lam = (lambda z: "L")
    print(lam(0), (lambda DEPTH: "p" if DEPTH == 3 else "q")(4), [DEPTH for DEPTH in range(2)], {DEPTH: DEPTH})
    if (n := 0) and n > 3: print("walrus", n)
    x = y = 2
    x += 1
    print(x, y, "eq", "xx" if x == 2 else "xe")
    (p, q), r = (1, 2), 5
    print("pq", r)
    for i, DEP in enumerate((DEPTH, DEPTH + 1)):
        if DEP == 3: print("loop3", i)

if __name__ == "__main__":
    main()
