"""nanochat's configurator reads and writes `globals()`: a construct that one file of many modules cannot keep."""
depth = 4
for name in [key for key in globals() if not key.startswith("_")]:
    print(name)


def main():
    print(depth)


if __name__ == "__main__":
    main()
