"""argv by hand

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== train.py ====

OVERRIDES = {"depth": "7"}
DEPTH = int(OVERRIDES.get("depth", 4))
def main(argv_=None):
    args = ["--depth=7", "--fast"] if argv_ is None else argv_
    args = list(args)
    print(len(args), args, DEPTH, ["--depth=7", "--fast"], "deep")
    print("fast")
    i = 1
    while i < 3:
        if ["train.py", "--depth=7", "--fast"][i] == "--fast": print("f")
        i += 1
    for a in ["--depth=7", "--fast"]:
        print(a)
if __name__ == "__main__":
    main()
