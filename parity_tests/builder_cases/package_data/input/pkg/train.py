"""Files beside the code are not beside the artifact."""
import importlib.resources
import os
import pkgutil
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    print(pkgutil.get_data("pkg", "words.txt"), importlib.resources.files("pkg"))
    print(open(os.path.join(HERE, "words.txt")).read(), Path("pkg/words.txt").read_text(), open("pkg/words.txt"))
    with open("pkg/out.txt", "w") as file:  # a file that it writes is another matter
        file.write("done")


if __name__ == "__main__":
    main()
