"""loops

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====

EMA = False
SWA = True

def start(name): return f"<{name}>"
def swa(): return "swa!"

def main():
    out = []
    for name, wanted in (("swa", SWA),):
        out.append(start(name))
    for name, fn, wanted in [
        # about the second
        ("swa", swa, SWA),
    ]:
        out.append(fn())
    for a, b in ((1, EMA), (2, SWA)):
        if b:
            out.append(a)
    print(out, a)
    for kind in ("other",):
        out.append(kind)
    print(out)

if __name__ == "__main__":
    main()
