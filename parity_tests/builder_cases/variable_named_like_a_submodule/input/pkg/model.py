import pkg.ops


def build():
    return pkg.ops.norm()
