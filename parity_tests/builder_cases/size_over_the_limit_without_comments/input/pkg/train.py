# A comment that takes very many bytes, although there is nothing at all to be said here that anybody would like to hear.
def main():
    print(1)


if __name__ == "__main__":
    main()
