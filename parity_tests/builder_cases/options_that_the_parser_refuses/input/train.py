import argparse


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--act", choices=["relu", "gelu"], default="relu")
    args = parser.parse_args()
    print(args.act)


if __name__ == "__main__":
    main()
