def norm():
    return 1
