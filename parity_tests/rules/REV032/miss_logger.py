import logging


def main():
    log = logging.getLogger(__name__)
    log.info("%s", __name__)
    print(f"{__name__}: start")


if __name__ == "__main__":
    main()
