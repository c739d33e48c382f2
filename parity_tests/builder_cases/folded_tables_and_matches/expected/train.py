"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values of config.yaml; manifest.json lists them.
"""


# ==== pkg/train.py ====


def nki_norm(x: int) -> int:
    return x + 1


def table() -> object:
    norm = nki_norm
    scale = (lambda x: x * 2)(3)
    size = (-2) ** 2
    kept = {"nki": print, "other": torch(1)}
    return norm(1), scale, size, 3, len((3, 4)), callable(kept["nki"])


def torch(x: int) -> int:
    return x


def matching(x: int) -> str:
    # this one
    if x:
        return "nki with x"
    return "nki"


def undecided(x: int) -> str:
    match 2:
        case 1:
            return "one"
        case n if n == x:
            return "x"
        case _:
            return "mode 2"
    match x:
        case 1:
            pass
        case 2:
            return "2"


def main() -> None:
    print(table(), matching(0), matching(1), undecided(1))
    print(matching(2))


if __name__ == "__main__":
    main()
