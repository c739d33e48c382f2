import helpers


def main():
    print(helpers.double(4))


if __name__ == "__main__":
    main()
