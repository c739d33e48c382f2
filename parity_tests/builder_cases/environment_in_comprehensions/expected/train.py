"""Built from train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====

DEPTH = int("5")
ON = ["B"]
SIZES = [len(name) for name in ON]  # reads nothing


def main():
    print("gelu", DEPTH)
    for name in ON:
        print("with", name, SIZES)


if __name__ == "__main__":
    main()
