from .state import step as by
from . import state


def main():
    step = 1

    def outer():
        nonlocal step

        def inner():
            nonlocal step
            step += by

        inner()
        step *= 2

    outer()
    state.advance()
    print(step, by, state.step, state.late)


if __name__ == "__main__":
    main()
