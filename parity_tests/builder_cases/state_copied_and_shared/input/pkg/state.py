step = 0
history = []


def advance():
    global step
    step += 1
    history.append(step)
