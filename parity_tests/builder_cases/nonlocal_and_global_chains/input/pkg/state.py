step = 10


def advance():
    global step, late

    def deeper():
        global step
        step += 1

    deeper()
    late = step
