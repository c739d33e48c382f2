"""The model that fails."""

import warnings

from .config import Config


def divide(total, parts, config: Config):
    if config.strict:
        warnings.warn("about to divide", stacklevel=1)
    return (total * config.width) / (parts - 2)


def layers(parts, config: Config):
    try:
        return divide(8, parts, config)
    except ZeroDivisionError as error:
        raise ValueError("no layers") from error


def both(config: Config):
    errors = []
    for parts in (1, 1):
        try:
            divide(1, parts, config)
        except ZeroDivisionError as error:
            errors.append(error)
    raise ExceptionGroup("both failed", errors)
