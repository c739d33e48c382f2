from .env import settings


def main():
    settings()["lr"] *= 2
    settings()["n"] = 1
    print(settings())


if __name__ == "__main__":
    main()
