from . import state


def main():
    for state.step in range(3):
        pass
    with open("log") as state.file:
        pass
    [state.first, *state.rest] = 1, 2
    state.step += 1
    del state.step


def patch():
    state.advance = print


patch()

if __name__ == "__main__":
    main()
