"""`from state import step` is a copy; `state.step` is the variable; a list is one list."""
from . import state
from .state import advance, history, step
from .state import step as begin


def main():
    advance()
    advance()
    from .state import step as now

    print(step, begin, now, state.step, history is state.history, history)


if __name__ == "__main__":
    main()
