import sys

from .config import Config, load_config


def nki_norm(x: int) -> int:
    return x + 1


def torch_norm(x: int) -> int:
    return x


def table(config: Config) -> object:
    norm = {
        "nki": nki_norm,  # fast
        "torch": torch_norm,
    }[config.norm]
    scale = {"nki": lambda x: x * 2, "torch": lambda x: x}[config.norm](3)
    size = {1: -1, 2: -config.mode}[config.mode] ** 2
    kept = {"nki": print, "other": torch(1) if config.mode else 0}
    return norm(1), scale, size, config.sizes[0], len(config.sizes), callable(kept["nki"])


def torch(x: int) -> int:
    return x


def matching(config: Config, x: int) -> str:
    match config.norm:
        case "torch":
            return "torch"
        case "other" | "nki":
            # this one
            if x:
                return "nki with x"
            return "nki"
        case _:
            return "none"


def undecided(config: Config, x: int) -> str:
    match config.mode:
        case 1:
            return "one"
        case n if n == x:
            return "x"
        case _:
            return f"mode {config.mode}"
    match x:
        case 1:
            match config.mode:
                case 5:
                    return "5"
        case 2:
            return "2"


def main(config: Config) -> None:
    print(table(config), matching(config, 0), matching(config, 1), undecided(config, 1))
    match config.mode:
        case 3:
            print("three")
    print(matching(config, config.mode))


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
