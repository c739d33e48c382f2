def max(values):
    return "own"


biggest = max([1])
del max


def largest(values):
    return max(values)


if len(biggest) > 9:

    def zip(*rows):
        return rows


size = sum([1])


def sum(values):
    return size, zip(values)
