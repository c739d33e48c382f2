count = 0
total = 10


def bump():
    global count
    count += 1
    return count
