import time


def left(started):
    return 1800 - (time.monotonic() - started)


def train(model, batches):
    started = time.monotonic()
    for x in batches:
        model(x).backward()
        if left(started) < 5:
            break


def evaluate(model, batches):
    return sum(model(x) for x in batches)
