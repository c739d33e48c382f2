"""Operators, look-ups and attributes of the recipe's own objects may do something.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/pipeline.py ====


class Plan:
    def __init__(self):
        self.steps = []

    def __or__(self, step):
        self.steps.append(step)
        return self

    def __getitem__(self, step):
        self.steps.append(step)
        return step

    @property
    def last(self):
        self.steps.append("last")
        return None


plan = Plan()
plan | "load"
longer = plan | "norm"
picked = plan[3]
seen = plan.last


# ==== pkg/train.py ====


def main():
    print(plan.steps)


if __name__ == "__main__":
    main()
