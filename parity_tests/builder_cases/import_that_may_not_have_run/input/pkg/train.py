"""A local import is a variable where the function may use it without having come by."""


def guarded(flag):
    if flag:
        from .ops import norm
    return norm()


def early():
    try:
        print(norm())
        from .ops import norm
    except UnboundLocalError:
        return "unbound"


def inside(flag):
    if flag:
        from .ops import norm

        return [norm() for _ in range(2)], (lambda: norm())()
    return None


def main():
    print(guarded(True), early(), inside(True), inside(False))
    try:
        guarded(False)
    except UnboundLocalError:
        print("unbound")


if __name__ == "__main__":
    main()
