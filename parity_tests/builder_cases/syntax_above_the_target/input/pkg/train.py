def main():
    match 1:
        case 1:
            print("one")


if __name__ == "__main__":
    main()
