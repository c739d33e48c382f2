count = 0


def step() -> int:
    global count
    count += 1
    return count
