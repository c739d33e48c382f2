import time


def train(model, batches):
    started = time.monotonic()
    for x in batches:
        model(x).backward()
        if time.monotonic() - started > 1800:  # expect
            break
