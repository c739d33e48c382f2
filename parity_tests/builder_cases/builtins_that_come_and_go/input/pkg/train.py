from .early import biggest, largest, size, sum
from .late import pairs


def main():
    print(biggest, largest([1, 2]), max([3, 4]), size, sum([]), pairs())


if __name__ == "__main__":
    main()
