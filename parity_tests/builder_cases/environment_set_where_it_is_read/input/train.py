import os

# `setdefault` in the middle of an expression sets the variable too, which other reads of it see.
DEPTH = int(os.environ.setdefault("FF_DEPTH", "5"))
WIDTH = int(os.environ.setdefault("FF_WIDTH", "64"))


def depth(text=os.environ.get("FF_DEPTH", "unset")):
    return "FF_DEPTH" in os.environ, text


def main():
    print(DEPTH, WIDTH, depth())


if __name__ == "__main__":
    main()
