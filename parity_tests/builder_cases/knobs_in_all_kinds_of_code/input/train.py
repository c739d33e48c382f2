"""soundness 2"""
import argparse, os, sys, functools, threading
from dataclasses import dataclass, field, replace
from typing import NamedTuple

def _e(n, d): return type(d)(os.environ.get(n, d)) if d is not None else os.environ.get(n)
def _int(n, d=0):
    v = os.environ.get(n)
    return d if v is None else int(v)
def _bool(n, d=False): return os.environ.get(n, "1" if d else "0") not in ("0", "", "false")

DEPTH = _int("DEPTH", 3)

# default captured at definition
K = _int("K", 1)
def cap(x=K): return x
K = K + 10

class Base:
    mode = "a" if _bool("M") else "b"
    def pick(self): return self.mode
class Derived(Base):
    if DEPTH > 2:
        def pick(self): return "deep-" + self.mode
    else:
        def pick(self): return "flat"
    size = DEPTH
    sizes = [x for x in range(size)]

@dataclass(frozen=True)
class Cfg:
    a: int = _int("A", 1)
    b: int = 0
    tags: tuple = ("x",)
    @property
    def twice(self): return self.a * 2
C = Cfg(b=_int("B", 5))
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
    LATE = _int("LATE", 4)
def use_late():
    return "four" if LATE == 4 else "no"

state = {"n": _int("N", 1)}
def inc():
    state["n"] += 1
    return state["n"]
def check():
    return "one" if state["n"] == 1 else "more"

LIST = [1, 2]
LIST.append(_int("APP", 3))
def total(): return "six" if sum(LIST) == 6 else "other"
def grow(): LIST.append(9)

def kw(**k): return k.get("depth", 0)
def star(*a): return len(a)

def excepts():
    try:
        v = _int("BAD", 1)
        w = 10 // (v - 1)
    except ZeroDivisionError as e:
        w = -1
    finally:
        v = 0
    return w, v

def early(flag=_bool("EARLY", True)):
    if flag: return "early"
    x = 1
    return x

def chained():
    return 1 < DEPTH < 5, not DEPTH, DEPTH and "d" or "n", DEPTH or boom()

def boom(): raise RuntimeError("boom")

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
    if DEPTH > 2:
        # deep
        r.append("a")
        if K > 100:
            r.append("never")
        elif _bool("E1"):
            r.append("e1")
        else:
            r.append("else")
    elif DEPTH == 1:
        r.append("one")
    else:
        r.append("zero")
    return r

def match_it():
    match DEPTH:
        case 1 | 2: return "low"
        case 3: return "three"
        case _: return "high"

def multi(a, b=_int("MB", 2), *, c=None):
    if b == 2: a += 1
    if c is None: a += 10
    return a

def load_for_eval(checkpoint_path, device): return None

def main():
    print(cap(), K, Base().pick(), Derived().pick(), Derived.sizes)
    print(C, C2, choose(C), choose(C2), C.twice)
    print(rec(DEPTH), list(gen(_bool("G"))), list(gen(True)), closure(), shadow(99), shadow(DEPTH), local_shadow())
    late(); print(use_late(), check(), inc(), check(), total()); grow(); print(total())
    print(kw(depth=DEPTH), star(*range(DEPTH)), excepts(), early(), early(False), chained(), whil(), nested_if(), match_it())
    print(multi(1), multi(1, c=2), multi(1, 3))
    t = threading.Thread(target=grow); t.start(); t.join(); print(len(LIST))
    d = {"depth": DEPTH, **({"x": 1} if _bool("DX") else {})}
    print(d, [*(["y"] if _bool("DY") else [])], f"{DEPTH:>4}|{'on' if _bool('ON') else 'off'}|{K!r}")
    lam = (lambda z: "L" if DEPTH == 3 else "l")
    print(lam(0), (lambda DEPTH: "p" if DEPTH == 3 else "q")(4), [DEPTH for DEPTH in range(2)], {DEPTH: DEPTH})
    if (n := _int("WN", 0)) and n > 3: print("walrus", n)
    assert DEPTH >= 0, boom()
    x = y = _int("XY", 2)
    x += 1
    print(x, y, "eq" if y == 2 else "ne", "xx" if x == 2 else "xe")
    (p, q), r = (_int("P", 1), _int("Q", 2)), 5
    print("pq" if p + q == 3 else "-", r)
    for i, DEP in enumerate((DEPTH, DEPTH + 1)):
        if DEP == 3: print("loop3", i)

if __name__ == "__main__":
    main()
