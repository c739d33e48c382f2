"""`__import__` of a name that the machine lacks fails, and may where that is caught."""

import importlib.machinery


def version():
    try:
        return __import__("_platform_tags").version
    except ImportError:
        return None


def main():
    print(version(), ".py" in importlib.machinery.SOURCE_SUFFIXES)


if __name__ == "__main__":
    main()
