from .model import seen

RUNS = []


def main():
    RUNS.append(1)
    print(seen())


if __name__ == "__main__":
    main()
