NAME = "math"


def fallback():
    try:
        return __import__("torch")
    except ImportError:
        return None


def main():
    print(__import__(NAME), __import__("pkg.other"), __import__("wandb"), __import__("os"), fallback(), __import__("math", globals()))


if __name__ == "__main__":
    main()
