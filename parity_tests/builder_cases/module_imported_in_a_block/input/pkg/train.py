for _ in range(1):
    from . import ops


def main():
    print(ops.norm())


if __name__ == "__main__":
    main()
