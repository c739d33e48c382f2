def pairs():
    return list(zip([1], [2])), sum([3])
