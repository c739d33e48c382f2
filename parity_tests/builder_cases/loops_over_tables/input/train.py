"""loops"""
import os
EMA = os.environ.get("EMA", "0") == "1"
SWA = os.environ.get("SWA", "1") == "1"

def start(name): return f"<{name}>"
def ema(): return "ema!"
def swa(): return "swa!"

def main():
    out = []
    for name, wanted in (("ema", EMA), ("swa", SWA)):
        if wanted:
            out.append(start(name))
    for name, fn, wanted in [
        ("ema", ema, EMA),  # the first
        # about the second
        ("swa", swa, SWA),
        ("both", swa, EMA and SWA),
    ]:
        if wanted:  # only those
            out.append(fn())
    for flag in (EMA, EMA, False or EMA):
        if flag: out.append("x")
    for a, b in ((1, EMA), (2, SWA)):
        if b:
            out.append(a)
    print(out, a)
    assert EMA in (True, False), "bad"
    for kind in ("ema", "swa", "other"):
        if kind == os.environ.get("KIND", "ema"):
            out.append(kind)
    print(out)

if __name__ == "__main__":
    main()
