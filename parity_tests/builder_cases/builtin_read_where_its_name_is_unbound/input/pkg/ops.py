try:
    int("x")
except ValueError as max:
    print(type(max).__name__)


def top(a, b):
    return max(a, b)
