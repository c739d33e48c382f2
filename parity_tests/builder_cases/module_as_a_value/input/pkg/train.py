from . import ops
import pkg


def main():
    print(getattr(ops, "norm"), [ops], pkg.ops.absent, pkg)


if __name__ == "__main__":
    main()
