from . import a, b


def main():
    print(a.show(), b.show(), a.j.dumps(3))


if __name__ == "__main__":
    main()
