import sys

from .config import Config, load_config
from .norm import NkiNorm, TorchNorm
from .other import other


def make_norm(config: Config) -> NkiNorm | TorchNorm:
    if config.norm == "nki":
        return NkiNorm()
    return TorchNorm()


def use_other(config: Config) -> int | None:
    return other(1) if config.norm == "torch" else None


def main(config: Config) -> None:
    norm: NkiNorm | TorchNorm | None = make_norm(config)
    print(norm(1), use_other(config))


if __name__ == "__main__":
    main(load_config(sys.argv[1:]))
