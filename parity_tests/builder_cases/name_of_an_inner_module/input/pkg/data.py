import logging

logger = logging.getLogger(__name__)


def show():
    return f"{__name__} {logger.name}"


if __name__ == "__main__":
    print("never")
