"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/state.py ====

step = 10


def advance():
    global step, late

    def deeper():
        global step
        step += 1

    deeper()
    late = step


# ==== pkg/train.py ====

by = step


def main():
    step_local = 1

    def outer():
        nonlocal step_local

        def inner():
            nonlocal step_local
            step_local += by

        inner()
        step_local *= 2

    outer()
    advance()
    print(step_local, by, step, late)


if __name__ == "__main__":
    main()
