from .a import Y, f, V


def main(): print(Y, f(), V)


if __name__ == "__main__":
    main()
