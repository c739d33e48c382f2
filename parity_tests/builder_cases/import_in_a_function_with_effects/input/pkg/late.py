print("late")


def work():
    return 1
