import wandb


def build():
    return 1


def log(value: int) -> None:
    wandb.log(value)
