import numpy
import wandb


def main():
    import tiktoken.core

    wandb.log(numpy.zeros(1), tiktoken)


def unused():
    import matplotlib


if __name__ == "__main__":
    main()
