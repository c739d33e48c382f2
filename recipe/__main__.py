"""The local development runner: train as a submission does, then evaluate.

torchrun --standalone --nproc_per_node=2 -m recipe --config embedded
"""

from __future__ import annotations

import sys

import prepare

from recipe.config import ConfigError, load_config
from recipe.evaluate import report
from recipe.live import live
from recipe.train import train


def run() -> None:
    """Train under every rank; rank 0 evaluates afterwards."""
    try:
        config = load_config(sys.argv[1:])
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    with live(config):
        model = train(config)
    if prepare.get_dist_info()[1] == 0:
        report(config, model)


if __name__ == "__main__":
    run()
