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
text = f"{1 + 2}"  # plain values: gone
