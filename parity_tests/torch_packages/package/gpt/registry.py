"""Names for parts of the model, entered by decorators."""

NORMS = {}
MLPS = {}


def register(table, name):
    """A decorator that enters a class under a name."""

    def enter(cls):
        assert name not in table, name
        table[name] = cls
        return cls

    return enter
