print('never')


def nothing():
    pass
