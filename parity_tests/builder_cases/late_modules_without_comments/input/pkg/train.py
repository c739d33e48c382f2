"""A module that runs late, in an artifact without comments."""


def main() -> None:
    # only here
    from .late import norm

    print(norm(2))


if __name__ == "__main__":
    main()
