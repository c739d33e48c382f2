"""One statement imports modules of the recipe and from outside."""


def main():
    import json, pkg.other as other, os.path

    print(json.dumps(other.work()), os.path.basename("a/b"))


if __name__ == "__main__":
    main()
