# Entry.

from .shapes import LONG, NAMES, area  # why


# Main.
def main():
    print(area(2, 3), NAMES, LONG)  # say


if __name__ == "__main__":  # as a program
    main()  # go
# The end.
