class Environment(dict):
    def get(self, name):
        return name


environ = Environment()
depth = environ.get("DEPTH")
width = environ["WIDTH"]


def read(os):
    return os.environ["X"]


def configure(environ):
    environ["DEPTH"] = "12"
    return environ.get("DEPTH")


class Model:
    def __init__(self, config):
        self.environ = config

    def value(self):
        return self.environ["Y"]
