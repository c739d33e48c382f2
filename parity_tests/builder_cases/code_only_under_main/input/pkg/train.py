def main():
    print(FLAG)


if __name__ == "__main__":
    FLAG = 1
    import os
    main()
