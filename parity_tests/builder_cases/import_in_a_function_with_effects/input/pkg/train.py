def main():
    from .late import work

    print(work())


if __name__ == "__main__":
    main()
