def main():
    print(1)


def load_for_eval(path, device, config):
    return None


if __name__ == "__main__":
    main()
