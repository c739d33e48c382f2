"""The configuration: what a knob may be, and what is said when it is something else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from parity_tests.systems import SYSTEMS
from recipe.config import CONFIGS, Config, ConfigError, load_config

SMALL = (CONFIGS / "small.yaml").read_text(encoding="utf-8")
# In what a system may differ from its embedded size: how large the model and a batch are, how long it trains, how fast
# it learns (which follows from both), how much it forgets (text that is read once is not learned by heart), how it is
# evaluated.
SIZES = {
    "world_size", "vocab_size", "depth", "width", "heads", "mlp_width", "expert_width", "bigram_rows", "bigram_width",
    "ngram_slots", "ngram_sample", "ema_decay",
    "seq_len", "batch_size", "micro_batches", "matrix_lr", "embed_lr", "head_lr", "bigram_lr", "weight_decay",
    "warmup_fraction", "reserve_seconds", "startup_margin_seconds", "eval_seq_len", "eval_batch_size", "eval_tokens",
}  # fmt: skip


def written(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return ["--config", str(path)]


def line_of(start: str) -> int:
    return next(number for number, line in enumerate(SMALL.splitlines(), 1) if line.startswith(start))


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.yaml")))
def test_every_configuration_loads(name: str) -> None:
    config = load_config(["--config", name])
    assert config.head_dim * config.heads == config.width
    assert config.tokens_per_update == config.world_size * config.micro_batches * config.batch_size * config.seq_len


def test_overrides_win_and_the_rest_stays() -> None:
    plain = load_config(["--config", "small"])
    changed = load_config(["--config", "small", "--matrix-lr", "1", "--fused_attention", "false"])
    assert dataclasses.replace(plain, matrix_lr=1.0, fused_attention=False) == changed
    assert type(changed.matrix_lr) is float
    assert changed != plain


def test_the_command_line_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", "--config", "small", "--seed", "7"])
    assert load_config() == load_config(["--config", "small", "--seed", "7"])


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_config(["--config", "small"]).depth = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("depth: 2\n", ""), r"mine\.yaml: missing knob depth; add a line `depth: VALUE`"),
        (("depth: 2", "dpeth: 2"), r"mine\.yaml:{depth}: unknown knob 'dpeth'; did you mean 'depth'\?"),
        (
            ("depth: 2", "depth: 2\ndepth: 3"),
            r"mine\.yaml:{after}: knob 'depth' was already set at .*mine\.yaml:{depth}",
        ),
        (("depth: 2", "depth: two"), r"mine\.yaml:{depth}: knob 'depth' must be of type int, found 'two' of type str"),
        (("depth: 2", "depth: 2.0"), r"mine\.yaml:{depth}: knob 'depth' must be of type int, found 2.0"),
        (("depth: 2", "depth: true"), r"mine\.yaml:{depth}: knob 'depth' must be of type int, found True"),
        (("depth: 2", "depth: 0"), r"knob 'depth' must be 1 or more, found 0; set: 'depth' at .*mine\.yaml:{depth}"),
        (("depth: 2", "depth: [2"), r"mine\.yaml:\d+: not YAML"),
        (("norm: nki", "norm: fast"), r"knob 'norm' must be one of 'nki', 'torch', found 'fast'"),
        (("lnc: 2", "lnc: 3"), r"knob 'lnc' must be one of 1, 2, found 3"),
        (("norm_eps: 1.0e-6", "norm_eps: 1e-6"), r"found '1e-6' of type str; write 1\.0e-6"),
        (("heads: 2", "heads: 3"), r"knob 'heads' must cut width = 64 into even parts, found 3"),
        (("device: neuron", "device: cpu"), r"must be 'torch' where 'device' is not 'neuron'; set: .*'device' at"),
        (("warmup_fraction: 0.05", "warmup_fraction: 0.9"), r"must add up to 1 at most"),
        (("depth: 2", "depth: 2\nconv_taps: 5"), r"knob 'conv_taps' must be 0 or 2 to 4, found 5"),
        (("depth: 2", "depth: 2\nclip: -1.0"), r"knob 'clip' must be 0 or more, found -1.0; set: 'clip' at"),
        (("depth: 2", "depth: 2\nmatrix_decay: 30.0"), r"knob 'matrix_decay' times 'matrix_lr' must be 0 to 1"),
        (("depth: 2", "depth: 2\nema_blend: 0.5"), r"need an average: set 'ema_decay', too; set: 'ema_blend' at"),
        (("depth: 2", "depth: 2\nsharding: fsdp"), r"knob 'sharding' must be 'none' where 'world_size' is 1"),
        (
            ("world_size: 1", "world_size: 2\nsharding: fsdp\nmatrix_dtype: bfloat16"),
            r"a block.s parameters are gathered as one tensor, of one dtype; set: .*.matrix_dtype. at",
        ),
        (
            ("world_size: 1", "world_size: 2\nsharding: fsdp\ncompile: true"),
            r"which no graph can hold; set: .*'compile' at",
        ),
        (("depth: 2", "depth: 2\nattention_window: -1"), r"must be 0 or more; set: 'attention_window' at"),
    ],
)
def test_a_bad_file_is_named_with_line_and_remedy(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in SMALL
    arguments = written(tmp_path, SMALL.replace(*change))
    depth = line_of("depth")
    with pytest.raises(ConfigError, match=message.replace("{depth}", str(depth)).replace("{after}", str(depth + 1))):
        load_config(arguments)


@pytest.mark.parametrize("text", ["", "- depth\n", "plain\n"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.yaml:1: expected lines of `knob: value`"):
        load_config(written(tmp_path, text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no configuration named"),
        (["--config", "nowhere"], "no such configuration; known ones: .*embedded"),
        (["--config", "small", "--seed"], "'--seed' stands alone"),
        (["--config", "small", "seed", "1"], "expected an option such as --config, found 'seed'"),
        (["--config", "small", "--sede", "1"], "unknown knob 'sede'; did you mean 'seed'"),
        (["--config", "small", "--seed", "x"], "command line, --seed: knob 'seed' must be of type int"),
        (["--config", "small", "--seed", "1", "--seed", "2"], "--seed is given twice"),
    ],
)
def test_a_bad_command_line(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(arguments)


def test_no_field_is_left_undocumented_in_the_shipped_files() -> None:
    """The shipped files set every knob that has no default, and nothing else decides them."""
    required = {field.name for field in dataclasses.fields(Config) if field.default is dataclasses.MISSING}
    for path in CONFIGS.glob("*.yaml"):
        keys = {line.split(":")[0] for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"}
        assert required <= keys, path.name


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_s_embedded_size_is_the_same_system_smaller(name: str) -> None:
    whole, small = (vars(load_config(["--config", each])) for each in (name, f"{name}-embedded"))
    assert {knob for knob in whole if whole[knob] != small[knob]} <= SIZES
    assert whole["vocab_size"] != small["vocab_size"]
