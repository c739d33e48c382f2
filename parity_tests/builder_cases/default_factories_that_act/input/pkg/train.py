from . import state


def main():
    print(state.COUNT)


if __name__ == "__main__":
    main()
