SEEN = []


def see(x):
    SEEN.append(x)
    return x
