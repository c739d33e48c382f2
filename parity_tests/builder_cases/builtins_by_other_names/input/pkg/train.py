import builtins

run = exec


def main():
    run("print(1)")
    builtins.exec("print(2)")
    builtins.__import__("pkg.model")
    print(__builtins__)


if __name__ == "__main__":
    main()
