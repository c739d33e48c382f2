"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/old.py ====
# Old style.

EPS = 1

def norm(x):
	if x:
		return x + EPS, "a	b"
	return EPS


# ==== pkg/train.py ====


def main():
    print(norm(2))


if __name__ == "__main__":
    main()
