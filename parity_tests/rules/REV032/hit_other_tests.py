def main():
    return 0


if __name__.startswith("__main"):  # expect
    main()

SCORING = {"__main__": False}[__name__]  # expect
LENGTH = __name__[:2]  # expect
name = __name__  # expect
match __name__:  # expect
    case "__main__":
        main()
if SCORING or bool(__name__.count("main")):  # expect
    main()
