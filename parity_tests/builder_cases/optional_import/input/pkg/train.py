import contextlib

try:
    import nki
except ImportError:
    nki = None

with contextlib.suppress(ImportError):
    import numpy


def main():
    try:
        import torch
    except Exception:
        torch = None
    print(nki, torch, numpy)


if __name__ == "__main__":
    main()
