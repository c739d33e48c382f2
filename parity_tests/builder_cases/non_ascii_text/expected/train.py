"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/text.py ====

# Grüße: the word-start mark.
MARK = "▁"
größe = f"{MARK}é😀{MARK!r}"


# ==== pkg/train.py ====


def main():
    print(ascii(MARK), ascii(größe))


if __name__ == "__main__":
    main()
