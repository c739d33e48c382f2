"""The list of knobs shows what the program makes of each, wherever it is read."""

import os

os.environ["ALLOCATOR"] = "expandable"  # the program itself decides
try:
    DEPTH = int(os.environ["DEPTH"])
except KeyError:
    DEPTH = 4


def main():
    print(os.environ["ALLOCATOR"], DEPTH)
    while int(os.environ.get("LOOPS", "0")) > 3:
        print("looping")
        break
    match os.environ.get("MODE", "fast"):
        case "fast" | "slow":
            print("a mode")
    print("a" if os.environ.get("FIRST") else "b" if os.environ.get("SECOND") else "c")
    if os.environ.get("TIED", "1") == "1":
        print("tied")


if __name__ == "__main__":
    main()
