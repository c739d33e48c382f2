import os


def env_int(name, default):
    raw = os.environ.get(name, default)
    try:
        return int(raw)
    except ValueError:
        raise SystemExit(f"{name} must be a whole number, got {raw!r}")


DEPTH = env_int("DEPTH", 4)


def main():
    print(DEPTH)


if __name__ == "__main__":
    main()
