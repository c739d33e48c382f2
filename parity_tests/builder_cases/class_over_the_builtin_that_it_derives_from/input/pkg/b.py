class list(list):
    def first(self):
        return self[0]


class Warning(Warning):
    pass


def h():
    return list([1]).first(), isinstance([], list), issubclass(Warning, Exception)
