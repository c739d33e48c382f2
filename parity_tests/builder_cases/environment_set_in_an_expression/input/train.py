import os

env = os.environ


def started(name):
    return env.setdefault(name, "1")


def steps(n=int(os.environ.setdefault("FF_STEPS", "3"))):
    return n


def main():
    print(steps(), os.environ.get("FF_STEPS", "unset"), "FF_STEPS" in os.environ)
    print(started("FF_STARTED"), os.getenv("FF_STARTED"))
