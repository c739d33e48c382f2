def step(model, x):
    loss = model(x)
    loss.backward()
    return loss


def train(model, batches):
    for _, x in zip(range(3400), batches):  # expect
        step(model, x)


def other(model, batches, steps):
    done = 0
    while done < steps:  # expect
        for x in next(batches):
            model(x).backward()
        done += 1
