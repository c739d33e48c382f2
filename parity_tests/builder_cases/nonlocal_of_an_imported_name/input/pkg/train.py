from . import ops


def counter():
    from .ops import count

    def step():
        nonlocal count
        count += 1
        return count

    step()
    return step(), count


def main():
    print(counter(), ops.count)


if __name__ == "__main__":
    main()
