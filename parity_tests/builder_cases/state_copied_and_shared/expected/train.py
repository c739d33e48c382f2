"""`from state import step` is a copy; `state.step` is the variable; a list is one list.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/state.py ====

step = 0
history = []


def advance():
    global step
    step += 1
    history.append(step)


# ==== pkg/train.py ====

train_step = step
begin = step


def main():
    advance()
    advance()
    now = step

    print(train_step, begin, now, step, history is history, history)


if __name__ == "__main__":
    main()
