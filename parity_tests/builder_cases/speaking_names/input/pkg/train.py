from . import a, b

b_use = 1


def main():
    a_use = 2
    print(a.use(), b.use(), b_use, a_use)


if __name__ == "__main__":
    main()
