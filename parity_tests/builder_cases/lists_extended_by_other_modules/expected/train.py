"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/registry.py ====

KERNELS = {"none": 0}
NAMES = ["registry"]


# ==== pkg/train.py ====

NAMES.append("train")


# ==== pkg/more.py ====

MORE_KERNELS = KERNELS
names = NAMES

MORE_KERNELS["rope"] = 1
MORE_KERNELS |= {"norm": 2}
names += ["more"]
names[0] = "first"
COUNT = len(names) + len(MORE_KERNELS)


# ==== pkg/train.py (continued) ====


def main():
    print(KERNELS, NAMES, COUNT)


if __name__ == "__main__":
    main()
