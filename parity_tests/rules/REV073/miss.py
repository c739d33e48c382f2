class Model:
    def __init__(self):
        self.globals = {}
        self.code = "x"

    def name(self):
        return type(self).__name__, self.__class__.__qualname__, self.__doc__, self.__dict__


print(Model.__module__, Model().name(), getattr(Model, "name"))
