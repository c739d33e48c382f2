"""What the configuration may change about the blocks: who sees how far, who adds what to the stream, and gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from parity_tests.recipe_samples import on_cpu, small
from recipe.checkpoint import CHECKPOINT, CheckpointError, load_model, save_checkpoint
from recipe.config import Config
from recipe.model import GPT, activation_dtype, make_model
from recipe.optim import make_optimizers
from recipe.ranks import Ranks

WINDOWS: dict[str, Any] = {"window_pattern": "SL", "attention_window": 3, "fused_attention": False}
SWITCHES: dict[str, dict[str, Any]] = {
    "window pattern": WINDOWS,
    "attention in every other layer": {"attention_every": 2},
    "skips": {"skips": True},
    "residual mix": {"residual_mix": True},
    "value embeddings": {"value_embeddings": True},
    "attention gate": {"attention_gate": True},
    "smear gate": {"smear_gate": True},
}
ALL = {knob: value for knobs in SWITCHES.values() for knob, value in knobs.items()}
NEW = {  # the parameters that a switch brings, in four layers of width 32 with two heads and 64 tokens
    "skips": {"blocks.3.recalls.0.scale": (1,)},
    "residual mix": {f"blocks.{i}.recalls.0.scales": (2,) for i in range(4)} | {"embed.1.weight": (32,)},
    "value embeddings": {f"blocks.{i}.attention.table.weight": (64, 32) for i in (1, 3)}
    | {f"blocks.{i}.attention.table_gate.weight": (2, 12) for i in (1, 3)},
    "attention gate": {f"blocks.{i}.attention.gate.weight": (2, 12) for i in range(4)},
    "smear gate": {"embed.1.gate.weight": (1, 12), "embed.1.scale": (1,)},
}


def made(config: Config, noise: float = 0.1) -> GPT:
    """A model whose every parameter matters: zero-initialised ones are filled."""
    torch.manual_seed(0)
    model = make_model(config, activation_dtype(config, torch.device(config.device)))
    model.initialize()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn(parameter.shape, generator=generator))
    return model.to(config.device)


def tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 64, (batch, length), generator=torch.Generator().manual_seed(seed), dtype=torch.int32)


@pytest.mark.parametrize("name", [*SWITCHES, "all"])
def test_each_switch_leaves_the_model_causal_and_rows_alone_at_any_length(name: str) -> None:
    """And it matters: without it the same noise makes other logits."""
    model = made(on_cpu(depth=4, **(SWITCHES | {"all": ALL})[name])).eval()
    x = tokens(2, 24)
    changed = x.clone()
    changed[:, 15:] = (changed[:, 15:] + 1) % 64
    logits = model(x)
    assert torch.equal(logits[:, :15], model(changed)[:, :15])
    assert not torch.equal(logits[:, 15:], model(changed)[:, 15:])
    assert torch.equal(logits, model(x))
    assert torch.allclose(model(x[1:])[0], logits[1], atol=1e-5)
    for length in (1, 2, 17):
        assert torch.allclose(model(x[:, :length]), logits[:, :length], atol=1e-5)
    assert not torch.allclose(made(on_cpu(depth=4))(x), logits, atol=1e-2)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_brings_its_own_parameters_and_no_others(name: str) -> None:
    plain, model = (dict(made(on_cpu(depth=4, **knobs)).named_parameters()) for knobs in ({}, SWITCHES[name]))
    found = {key: tuple(value.shape) for key, value in model.items() if key.replace("embed.0", "embed") not in plain}
    assert found == NEW.get(name, {})
    lost = {key for key in plain if key not in model and key.replace("embed", "embed.0") not in model}
    attentions = {key for key in plain if "attention" in key and key.startswith(("blocks.1.", "blocks.3."))}
    assert lost == (attentions if name == "attention in every other layer" else set())


@pytest.mark.parametrize("config", [on_cpu, small], ids=["cpu", "neuron"])
def test_all_switches_together_train(config: Any) -> None:
    """Every parameter has one kind, gets a gradient and moves; the loss falls."""
    made_of = config(depth=4, vocab_size=64, width=32, seq_len=16, **ALL)
    model = made(made_of, noise=0.0)
    kinds = [model.matrices(), model.tables(), list(model.head.parameters()), model.gains()]
    assert sorted(id(p) for kind in kinds for p in kind) == sorted(id(p) for p in model.parameters())
    assert [len(kind) for kind in kinds[:3]] == [2 * 4 + 4 * 2, 1 + 1, 1]
    assert {p.dim() for p in model.matrices()} == {2}
    optimizers, _ = make_optimizers(made_of, model, Ranks(0, torch.device(made_of.device)))
    before = {name: p.detach().cpu().clone() for name, p in model.named_parameters()}
    x, y = tokens(4, 16).to(made_of.device), tokens(4, 16, seed=1).long().to(made_of.device)
    losses = []
    for _ in range(8):
        loss = model(x, y)
        loss.backward()
        losses.append(loss.item())
        assert all(p.grad is not None for p in model.parameters())
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
    assert losses[-1] < losses[0] - 0.5
    assert {name for name, p in model.named_parameters() if torch.equal(p.detach().cpu(), before[name])} == set()


def reach(config: Config) -> list[int]:
    """The positions whose logits depend on token 2 of 12."""
    model = made(config)
    changed = tokens(1, 12)
    changed[:, 2] = (changed[:, 2] + 1) % 64
    before, after = model(tokens(1, 12)), model(changed)
    return [t for t in range(12) if not torch.allclose(before[0, t], after[0, t], atol=1e-6)]


def test_windows_follow_the_letters_over_the_layers_that_have_attention() -> None:
    """Window 3 reaches two positions on; another S two more; L, to the end; an MLP alone, no farther."""
    window: dict[str, Any] = {"attention_window": 3, "fused_attention": False}
    assert reach(on_cpu(depth=1, window_pattern="SL", **window)) == [2, 3, 4]
    assert reach(on_cpu(depth=2, window_pattern="SSL", **window)) == [2, 3, 4, 5, 6]
    assert reach(on_cpu(depth=3, window_pattern="SSL", **window)) == list(range(2, 12))
    assert reach(on_cpu(depth=4, window_pattern="SSL", attention_every=2, **window)) == [2, 3, 4, 5, 6]
    assert reach(on_cpu(depth=3, window_pattern="SL", attention_every=2, **window)) == list(range(2, 12))
    assert on_cpu(depth=6, window_pattern="SSL", attention_every=2, **window).windows == (3, 3, 3, 3, 0, 0)
    assert reach(on_cpu(depth=1, smear_gate=True, **window)) == [2, 3, 4, 5]


def test_a_windowed_pattern_is_the_same_by_the_kernel() -> None:
    plain = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch", "dtype": "float32"}
    sizes = {"vocab_size": 64, "width": 32, "depth": 2}
    by_torch, by_kernel = (
        made(small(**plain, **sizes, **(WINDOWS | {"attention": kind})))(tokens(2, 12).to("neuron")).cpu()
        for kind in ("torch", "nki")
    )
    other = made(small(**plain, **sizes, **(WINDOWS | {"window_pattern": "LS"})))(tokens(2, 12).to("neuron")).cpu()
    assert torch.allclose(by_torch, by_kernel, atol=1e-5)
    assert not torch.allclose(other, by_kernel, atol=1e-5)


def streams(model: GPT, x: Tensor) -> list[Tensor]:
    """What each block returns, in turn."""
    returned: list[Tensor] = []
    hooks = [block.register_forward_hook(lambda _m, _i, out: returned.append(out)) for block in model.blocks]
    model(x)
    for hook in hooks:
        hook.remove()
    return returned


def given(model: GPT, x: Tensor) -> list[Tensor]:
    """What each block is given, in turn."""
    taken: list[Tensor] = []
    hooks = [block.register_forward_pre_hook(lambda _m, args: taken.append(args[0])) for block in model.blocks]
    model(x)
    for hook in hooks:
        hook.remove()
    return taken


def test_late_blocks_read_their_partner_among_the_early_ones() -> None:
    model = made(on_cpu(depth=5, skips=True))
    x = tokens(2, 8)
    left, read = streams(model, x), given(model, x)
    pairs = {}
    for late in range(1, 5):
        block: Any = model.blocks[late]
        added = read[late] - left[late - 1]
        if len(block.recalls):
            pairs[late] = block.recalls[0].source
            assert torch.allclose(added, block.recalls[0].scale * left[pairs[late]], atol=1e-5)
        else:
            assert torch.equal(read[late], left[late - 1])
    assert pairs == {3: 1, 4: 0}


def test_every_block_reads_a_mix_with_the_normalised_embedding() -> None:
    model = made(on_cpu(depth=3, residual_mix=True))
    x = tokens(2, 8)
    start = model.embed(x)
    rms = (start / model.embed[1].weight).square().mean(-1)  # type: ignore[index, operator]
    assert torch.allclose(rms, torch.ones(2, 8), atol=1e-3)
    before = [start, *streams(model, x)]
    for layer, read in enumerate(given(model, x)):
        block: Any = model.blocks[layer]
        a, b = block.recalls[0].scales
        assert torch.allclose(read, a * before[layer] + b * start, atol=1e-5)


def test_attentions_with_a_table_alternate_and_the_last_has_one() -> None:
    def layers(**knobs: Any) -> list[int]:
        blocks: Any = make_model(on_cpu(value_embeddings=True, **knobs), torch.float32).blocks
        return [i for i, b in enumerate(blocks) if any(isinstance(m, nn.Embedding) for m in b.modules())]

    assert layers(depth=1) == [0]
    assert layers(depth=4) == [1, 3]
    assert layers(depth=5) == [0, 2, 4]
    assert layers(depth=6, attention_every=2) == [0, 4]
    assert layers(depth=7, attention_every=3) == [0, 6]


def test_gates_start_where_they_change_least() -> None:
    """Smear adds nothing; a table's rows count once; heads are halved."""
    x = tokens(2, 8)

    def new(**knobs: Any) -> GPT:
        torch.manual_seed(0)
        model = make_model(on_cpu(depth=2, **knobs), torch.float32)
        model.initialize()
        for block in model.blocks:
            nn.init.eye_(block.attention.out.weight)  # type: ignore[union-attr, arg-type]
        return model

    smeared = new(smear_gate=True)
    assert torch.equal(smeared.embed(x), smeared.embed[0](x))  # type: ignore[index, operator]
    attention: Any = new(attention_gate=True).blocks[0].attention
    around = {"cos": torch.ones(8, 16), "sin": torch.zeros(8, 16), "tokens": x}
    h = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(2))
    halved = attention(h, around)
    attention.gate.weight.data.fill_(1e6)
    attention.gate.weight.data *= h[0, 0, :12].sign()
    assert torch.allclose(2.0 * halved[0, 0], attention(h, around)[0, 0], atol=1e-5)
    embedded: Any = new(value_embeddings=True).blocks[1].attention
    with_rows = embedded.read(h, around)[2].flatten(2)
    assert torch.allclose(with_rows, embedded.value(h) + embedded.table(x), atol=1e-5)


def test_the_checkpoint_is_for_the_same_switches_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = on_cpu(depth=4, **ALL)
    model = made(config).eval()
    save_checkpoint(model, config, {"step": 1})
    assert torch.equal(load_model(str(CHECKPOINT), "cpu", config)(tokens(2, 9)), model(tokens(2, 9)))
    for other, said in (
        ({"window_pattern": "SLL"}, "window_pattern"),
        ({"attention_every": 3}, "attention_every"),
        ({"skips": False}, "recalls"),
        ({"smear_gate": False}, "embed"),
    ):
        with pytest.raises(CheckpointError, match=said):
            load_model(str(CHECKPOINT), "cpu", on_cpu(depth=4, **(ALL | other)))


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"window_pattern": "SX"}, "'window_pattern' must be letters L and S, found 'SX'"),
        ({"window_pattern": ""}, "'window_pattern' must be letters L and S, found ''"),
        ({"window_pattern": "SL"}, "'attention_window' must be set where 'window_pattern' has both letters"),
        (
            {"window_pattern": "L", "attention_window": 3},
            "'attention_window' must be 0 where 'window_pattern' has no S",
        ),
        ({"attention_every": 0}, "'attention_every' must be 1 or more, found 0"),
        ({"skips": True, "depth": 2}, "'skips' must be false where 'depth' is below 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        on_cpu(**knobs)
