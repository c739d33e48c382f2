"""Sizes that are no multiples of 128: refused where the configuration asks for it; what they cost by the estimate."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from nki._account import Account, accounting

from parity_tests.recipe_samples import on_cpu
from recipe.config import CONFIGS, ConfigError, load_config
from recipe.kernels.fused_mlp import fused_mlp_forward

ALIGNED = {"width": 128, "mlp_width": 384, "vocab_size": 256, "batch_size": 8, "seq_len": 16}


def test_sizes_of_whole_tiles_pass_and_each_other_one_is_told_with_its_cost() -> None:
    assert on_cpu(tile_aligned=True, **ALIGNED).width == 128
    for knob, size, said in (
        ("width", 132, "'width' (and 'heads' x head_dim) = 132 (48.4 %)"),
        ("mlp_width", 320, "'mlp_width' = 320 (16.7 %)"),
        ("vocab_size", 64, "'vocab_size' = 64 (50.0 %)"),
        ("seq_len", 20, "'batch_size' x 'seq_len' = 160 (37.5 %)"),
    ):
        assert getattr(on_cpu(**(ALIGNED | {knob: size})), knob) == size
        with pytest.raises(
            ValueError, match="knob 'tile_aligned' must be false, or these be multiples of 128"
        ) as caught:
            on_cpu(tile_aligned=True, **(ALIGNED | {knob: size}))
        assert str(caught.value).endswith(f"is padding: {said}")


def test_the_refusal_says_where_the_sizes_were_set() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(["--config", "small", "--tile-aligned", "true", "--mlp-width", "250"])
    small = CONFIGS / "small.yaml"
    line = small.read_text(encoding="utf-8").split("\n").index("width: 64") + 1
    assert f"'width' at {small}:{line}, " in str(caught.value)
    assert "'mlp_width' at command line, --mlp-width" in str(caught.value)


def account(tokens: int, width: int, hidden: int) -> Account:
    """A whole MLP by the estimate of the stand-in."""
    bf16 = np.dtype(ml_dtypes.bfloat16)
    with accounting() as accounts:
        fused_mlp_forward[1](
            x=np.ones((tokens, width), bf16), up=np.ones((width, hidden), bf16), down=np.ones((hidden, width), bf16)
        )
    return accounts[0]


def idle(found: Account, moving: int) -> float:
    """The share of the tensor engine's cycles that full tiles would save, in products where so many columns move by."""
    costs = [
        each.cost
        for each in found.instructions
        if each.name == "nc_matmul" and next(o for o in each.operands if o.parameter == "moving").shape[-1] == moving
    ]
    return 1.0 - sum(cost.peak_cycles for cost in costs) / sum(cost.cycles for cost in costs)


def told(width: int, hidden: int) -> dict[str, float]:
    """The shares of padding that the configuration tells, by knob."""
    text = on_cpu(**(ALIGNED | {"width": width, "heads": 1, "mlp_width": hidden})).padding
    return {knob: float(share) / 100 for knob, share in re.findall(r"'(\w+)'[^=]* = \d+ \(([\d.]+) %\)", text)}


def test_the_estimate_shows_the_cost_that_the_refusal_tells() -> None:
    """The first product of an MLP has its width on rows and its hidden width on columns, while tokens move by."""
    assert told(128, 128) == {}
    for width, hidden in ((128, 128), (130, 128), (128, 129), (200, 320)):
        shares = told(width, hidden)
        full = (1.0 - shares.get("width", 0.0)) * (1.0 - shares.get("mlp_width", 0.0))
        assert idle(account(512, width, hidden), moving=512) == pytest.approx(1.0 - full, abs=1e-3)


def test_one_column_more_than_a_tile_costs_the_tensor_engine_half_as_much_again() -> None:
    """One of the two products has the width on rows, and takes twice as long; in the other it moves by."""
    tile, more, two = (account(512, width, 512).slower["tensor"] for width in (128, 129, 256))
    assert more > 1.5 * tile
    assert more < two < 2.01 * tile
    assert account(512, 128, 512).operations * 1.01 > account(512, 129, 512).operations
