from pkg.kernels import fast


def main():
    print(fast(1))


if __name__ == "__main__":
    main()
