def own():
    return "own"
