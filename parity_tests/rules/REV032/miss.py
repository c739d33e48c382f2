import logging

log = logging.getLogger(__name__)


def main():
    log.info(main.__name__)


if "__main__" == __name__:
    main()
