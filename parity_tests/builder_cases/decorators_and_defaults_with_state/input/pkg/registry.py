ORDER = []


def numbered(function):
    ORDER.append(len(ORDER))
    return function
