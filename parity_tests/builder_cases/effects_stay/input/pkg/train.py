import pkg.log


def main():
    print(pkg.log.LINES)


if __name__ == "__main__":
    main()
