"""A script, a module beside it, a package beside it, and one of the standard library's names taken by a sibling."""
import calendar
import helpers.text as text
from helpers import twice
from tools import scale


def main():
    print(scale(2), twice(3), text.word, calendar.own())


if __name__ == "__main__":
    main()
