settings = {
    "lr": 0.02,
    "depth": 12,
    "lr": 0.01,  # expect
}


def norm(x):
    return x


def norm(x):  # expect
    return x + 1


class Config:
    depth: int = 4
    depth: int = 8  # expect

    def run(self):
        return 1

    def run(self):  # expect
        return 2
