"""Where a definition comes from is another answer in the artifact."""
import inspect

from .model import GPT, build


def main():
    print(GPT.__module__, build.__module__ == "pkg.model", f"{type(build).__module__}")
    print(inspect.getmodule(build), inspect.getfile(build), build.__code__.co_filename)


if __name__ == "__main__":
    main()
