"""Reading an attribute or an item runs code of metaclasses, descriptors, properties and `__class_getitem__`."""
from . import model


def main():
    print(model.SEEN)


if __name__ == "__main__":
    main()
