import os


def main():
    print(os.environ.get("NEURON_CC_FLAGS"))


if __name__ == "__main__":
    main()
