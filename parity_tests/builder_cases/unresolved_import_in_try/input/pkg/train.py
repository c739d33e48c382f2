try:
    from .fast import norm
except ImportError:
    norm = None


def main():
    print(norm)


if __name__ == "__main__":
    main()
