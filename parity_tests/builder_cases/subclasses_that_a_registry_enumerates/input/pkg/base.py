class Optimizer:
    name = "none"


class Schedule:
    pass
