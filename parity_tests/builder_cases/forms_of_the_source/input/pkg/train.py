from .forms import (BYTES, CONTINUED, EXTRA, MATRIX, NUMBERS, ONE, SINGLE, TEXTS, TWO,
    Spaced, another, decorated, one_line, statements, tabs, waits)


def main():
    print(BYTES, SINGLE, NUMBERS, TEXTS, EXTRA, CONTINUED, ONE, TWO, MATRIX)
    print(tabs(1), tabs(0), decorated(1, 2, 3, d=4), Spaced().method(), one_line(), another(), waits.__name__, statements.__name__)


if __name__ == '__main__': main()
