import logging

logger = logging.getLogger(__name__)


def build():
    logger.warning("built by %s", __name__)
