"""Names beyond ASCII, written in another Unicode form elsewhere.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/maße.py ====

Δx = 1
H = 5
H = H + 1


def fit(x):
    return x + Δx


# ==== pkg/train.py ====


def main():
    μ = 2
    print(fit(μ), fit(µ), Δx, H)


if __name__ == "__main__":
    main()
