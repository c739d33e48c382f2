import pkg.sub.deep.ops
import pkg.sub.deep.ops as o
from pkg.sub import *
from pkg import sub


def main():
    print(norm(1), rescale(2), o.norm(3), pkg.sub.deep.ops.scale(4), sub.norm(5), pkg.base.BASE, sub.deep.LEVEL)


if __name__ == "__main__":
    main()
