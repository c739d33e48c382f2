print("never runs")


class Never:
    pass
