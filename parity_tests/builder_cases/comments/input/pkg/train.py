# Entry comment.
"""Entry."""
# After the docstring.

from .a import show  # import comment


# Main.
def main():
    print(show())  # say


if __name__ == "__main__":
    main()
