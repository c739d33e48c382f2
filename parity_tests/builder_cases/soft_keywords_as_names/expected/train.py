"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/words.py ====

match = 1
type = "type"
case = "case"
_ = "_"


# ==== pkg/train.py ====


def main():
    match match:
        case 1:
            print(type, case, _)


if __name__ == "__main__":
    main()
