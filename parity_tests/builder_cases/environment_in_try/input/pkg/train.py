import os

_YES = {"1", "true"}  # read by a helper, changed by nobody

try:
    DEPTH = int(os.environ["FF_DEPTH"])
except KeyError:
    # as in the paper
    DEPTH = 3
try:
    WIDTH = int(os.environ.get("FF_WIDTH", "wide"))
except (KeyError, ValueError): WIDTH = 7  # not a number
try:
    RATE = float(os.environ.get("FF_RATE", "0.5"))
except ValueError:
    raise SystemExit("FF_RATE must be a number")
if DEPTH > 2:
    try: SCALE = float(os.environ["FF_SCALE"])
    except KeyError:
        SCALE = None
try:
    RANK = int(os.environ["RANK"])
except KeyError:
    RANK = 0
try:
    PLACE = {"a": 1}["b"]
except KeyError:
    PLACE = "nowhere"


def layers(cast=int):
    try:
        count = cast(os.environ["FF_LAYERS"])
    except KeyError:
        return DEPTH + 1
    return count


def is_on(name):
    return os.environ.get(name, "true").lower() in _YES


FAST = is_on("FF_FAST")
TEXT = os.environ.setdefault("FF_TEXT", "t")


def main():
    try:
        size = int(os.environ["FF_SIZE"])
    except KeyError:
        size = 9
    print(DEPTH, WIDTH, RATE, SCALE, RANK >= 0, PLACE, layers(), size, TEXT)
    if FAST:
        print("fast")
    else:
        print("slow")


if __name__ == "__main__":
    main()
