print("other runs")


def work():
    return 1
