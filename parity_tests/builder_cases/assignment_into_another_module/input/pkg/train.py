from . import state


def main():
    state.step = 1
    state.step += 1
    del state.step


if __name__ == "__main__":
    main()
