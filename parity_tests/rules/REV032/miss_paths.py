import sys
from pathlib import Path

OUT = Path(__file__).parent / "out"


def main():
    if not OUT.exists():
        OUT.mkdir()
    print(sys.argv[0], __file__, main.__name__)
    return type(OUT).__name__ == "PosixPath"


if __name__ == "__main__":
    main()
