from .words import _, case, match, type


def main():
    match match:
        case 1:
            print(type, case, _)


if __name__ == "__main__":
    main()
