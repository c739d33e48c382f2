"""The configuration: one frozen dataclass of knobs, filled from `configs/NAME.yaml` and `--knob value` overrides.

    config = load_config(["--config", "embedded", "--depth", "2"])

Every value a run depends on is a field here, or follows from one by a property. Code that needs knobs takes a parameter
annotated `Config` and reads fields from it; nothing stores it. In a built submission each field is the literal that the
builder froze.
"""

from __future__ import annotations

import dataclasses
import difflib
import sys
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

CONFIGS = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class Config:
    """All knobs. Sizes count elements, times are seconds, learning rates are those of the flat part of the schedule."""

    # Machine and launch. The launch string is made from these, and the run refuses to start under another one.
    device: Literal["neuron", "cuda", "cpu"]
    world_size: int  # ranks that torchrun starts
    lnc: Literal[1, 2]  # physical cores per logical core; kernels are specialised for it
    dtype: Literal["bfloat16", "float32"]  # activations (a CPU always computes in float32)
    seed: int

    # Model
    vocab_size: int  # must equal the kit's tokenizer
    depth: int
    width: int
    heads: int
    mlp_width: int  # hidden width of the MLP; where there are experts, theirs is expert_width
    rotary_base: float
    norm_eps: float
    logit_softcap: float  # 0.0: none

    # Which implementation each operation has; NKI kernels need the Neuron device
    norm: Literal["nki", "torch"]
    rotary: Literal["nki", "torch"]
    mlp: Literal["fused", "nki", "torch"]  # the whole MLP as one kernel, or its activation
    loss: Literal["fused", "chunked", "nki", "torch"]  # fused, chunked (torch): with the head's, without whole logits
    fused_attention: bool  # on torch: F.scaled_dot_product_attention, or the products written out

    # Batch, per update: world_size * micro_batches * batch_size * seq_len tokens
    seq_len: int
    batch_size: int  # rows of one forward pass on one rank
    micro_batches: int  # forward passes per update on one rank

    # Optimizers
    matrix_lr: float  # Muon
    matrix_momentum: float
    embed_lr: float  # AdamW
    head_lr: float
    gain_lr: float
    adam_beta1: float
    adam_beta2: float
    weight_decay: float  # AdamW, decoupled

    # Schedule, in fractions of the time that may be charged (or of num_steps)
    warmup_fraction: float
    warmup_start: float  # learning rate multiplier at the first update
    cooldown_fraction: float
    cooldown_end: float  # learning rate multiplier at the last update
    reserve_seconds: float  # the least that is kept free for the checkpoint and the process's exit
    startup_margin_seconds: float  # launch to main(): start-up time that the process cannot see
    num_steps: int = 0  # stop after so many updates; 0: when the clock says so
    save_factor: float = 1.5  # the last save may take so many times as long as the one that was measured in start-up
    exit_seconds: float = 2.5  # from the end of the last save to that of the process, and what is to be left then
    batch_warmup_fraction: float = 0.0  # progress in which an update's micro-batches become all; 0.0: none
    batch_warmup_start: int = 1  # micro-batches of the first update then
    row_pool: int = 0  # rows from which those of a batch are drawn at random; 0: none, the loader's order
    compile: bool = False  # forward pass and loss by torch.compile, as one graph
    log_every: int = 1  # updates for one printed line
    safety_save_every: float = 0.0  # progress between saves that a run leaves which is killed; 0.0: that of start-up
    stall_seconds: float = 600.0  # that ranks wait for one of them, compilation included; then the run ends in an error

    # The author's own evaluation, in development runs only
    eval_split: str = "public_val"
    eval_seq_len: int = 128
    eval_batch_size: int = 16
    eval_tokens: int = 32768

    # Model: variants, and which implementation those operations have
    activation: Literal["relu_squared", "swiglu"] = "relu_squared"
    attention: Literal["nki", "torch"] = "torch"
    attention_window: int = 0  # positions that a query sees, itself included; 0: all before it
    window_pattern: str = "S"  # S: attention_window, L: whole; repeated over the layers that have attention
    attention_every: int = 1  # layers 0, n, 2 n, ... have attention, the others an MLP alone
    attention_gate: bool = False  # a gate on each head's output, from the attention's input
    value_embeddings: bool = False  # every other attention adds a gated row of a table of its own to its values
    skips: bool = False  # late blocks add the outputs of early ones, with learned weights
    residual_mix: bool = False  # each block reads a x + b x0, with x0 the normalised embedding, a and b learned
    smear_gate: bool = False  # a token adds a gated share of its predecessor's embedding
    tile_aligned: bool = False  # refuse sizes that the tensor engine would pad
    conv: Literal["nki", "torch"] = "torch"
    conv_taps: int = 0  # of a causal convolution in front of each attention; 0: none
    embedding: Literal["nki", "torch"] = "torch"
    experts: int = 0  # MLPs of a block, of which a router picks some for each token; 0: one MLP and no router
    experts_per_token: int = 2
    expert_width: int = 0  # hidden width of an expert
    capacity_factor: float = 1.25  # tokens that an expert takes in training / its share of them if all took as many
    balance_weight: float = 0.01  # of the loss that keeps experts equally busy, in each block
    bigram_rows: int = 0  # of a table that a hash of each token and the one before it reads, too; 0: none
    bigram_width: int = 0  # of its rows; where it is below width, a product behind it spreads them
    future_tokens: int = 0  # behind the next one, that the loss predicts, too
    future_weight: float = 0.3  # of the mean of their losses; what is printed is the next token's alone
    projection: Literal["torch", "fp8_nki", "fp8_torch"] = "torch"  # of the blocks' matrices, but in a fused MLP
    ngram: Literal["none", "nki", "torch"] = "none"  # a share of the predictions from n-gram counts
    ngram_orders: str = "2,3,4,6,9,16"  # tokens of an n-gram, the predicted one included
    ngram_slots: int = 16_384  # contexts that an order has room for, a power of two
    ngram_followers: int = 8  # of a context, that are counted and predicted
    ngram_refresh: int = 8  # updates in which the whole table is made anew, a part in each
    ngram_sample: int = 1  # of so many rows of a batch one is counted

    bigram_lr: float = 1.0  # row-wise Adagrad

    # Optimizers: which implementation, and which of its variants
    muon: Literal["nki", "torch"] = "torch"
    muon_steps: Literal["quintic", "polar_express"] = "quintic"  # the iteration's coefficients
    muon_state: Literal["float32", "bfloat16"] = "float32"
    adamw: Literal["nki", "torch"] = "torch"
    adam_state: Literal["float32", "bfloat16"] = "float32"
    matrix_dtype: Literal["float32", "bfloat16"] = "float32"  # of matrices; bfloat16: their owner has them in fp32, too
    table_dtype: Literal["float32", "bfloat16"] = "float32"  # the same for tables
    clip: float = 0.0  # largest norm of all gradients together, which larger ones are scaled down to; 0.0: any
    overlap: bool = False  # collectives while the ranks compute: gradients during backward, parameters during steps
    sharding: Literal["none", "fsdp"] = "none"  # fsdp: each rank holds a shard of every parameter, gradient and state
    ema: Literal["nki", "torch"] = "torch"
    matrix_decay: float = 0.0  # weight decay of Muon, decoupled
    ema_decay: float = 0.0  # of the moving average of the weights, which is saved; 0.0: none, 1.0: all weigh the same
    ema_prewarm: float = 0.0  # share of the schedule that passes before anything is averaged
    ema_blend: float = 1.0  # share of the average in what is saved; the rest is of the last weights

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads

    @property
    def rounds_parameters(self) -> bool:
        """Whether some parameters are kept in bf16, beside their owner's in fp32."""
        return self.matrix_dtype == "bfloat16" or self.table_dtype == "bfloat16"

    @property
    def layers_alike(self) -> bool:
        """Whether all blocks are made of the same modules."""
        return self.attention_every == 1 and self.one_window and not self.value_embeddings

    @property
    def one_window(self) -> bool:
        """Whether all attentions see as far."""
        return len(set(self.window_pattern)) == 1

    @property
    def windows(self) -> tuple[int, ...]:
        """How far the attention of each layer sees; layers without attention count as the one before them."""
        letters = [self.window_pattern[i % len(self.window_pattern)] for i in range(self.depth)]
        return tuple(
            self.attention_window if letters[layer // self.attention_every] == "S" else 0 for layer in range(self.depth)
        )

    @property
    def value_layers(self) -> tuple[int, ...]:
        """The layers that have a table of values: every other one of those with attention, the last included."""
        attentions = range(0, self.depth, self.attention_every)
        return tuple(reversed(attentions[::-2]))

    @property
    def hidden_width(self) -> int:
        """Hidden width of an MLP, or of an expert where there are experts."""
        return self.expert_width if self.experts > 0 else self.mlp_width

    @property
    def padding(self) -> str:
        """The sizes that are no multiples of 128, each with the share of a product's work that padding is then.

        The tensor engine holds an operand of up to 128 x 128 elements still, the inner dimension of the product on its
        rows and an outer one on its columns, while the other operand moves by. Where a size lies on rows or columns, it
        takes as long as the next multiple of 128.
        """
        return ", ".join(
            f"{name} = {size} ({100 * (-size % 128) / (size + -size % 128):.1f} %)"
            for name, size in (
                ("'width' (and 'heads' x head_dim)", self.width),
                ("'expert_width'" if self.experts > 0 else "'mlp_width'", self.hidden_width),
                ("'vocab_size'", self.vocab_size),
                ("'batch_size' x 'seq_len'", self.batch_size * self.seq_len),
            )
            if size % 128 > 0
        )

    @property
    def tokens_per_update(self) -> int:
        """Tokens that all ranks together see in one update, once the batch has its full size."""
        return self.micro_batches * self.tokens_per_micro_batch

    @property
    def tokens_per_micro_batch(self) -> int:
        """Tokens that all ranks together see in one micro-batch."""
        return self.world_size * self.batch_size * self.seq_len

    def __post_init__(self) -> None:
        """Refuse values that no run can use: ValueError."""
        for name, value in (
            ("world_size", self.world_size),
            ("vocab_size", self.vocab_size),
            ("depth", self.depth),
            ("attention_every", self.attention_every),
            ("width", self.width),
            ("heads", self.heads),
            ("mlp_width", self.mlp_width),
            ("seq_len", self.seq_len),
            ("batch_size", self.batch_size),
            ("micro_batches", self.micro_batches),
            ("ngram_slots", self.ngram_slots),
            ("ngram_followers", self.ngram_followers),
            ("ngram_refresh", self.ngram_refresh),
            ("ngram_sample", self.ngram_sample),
            ("log_every", self.log_every),
            ("eval_seq_len", self.eval_seq_len),
            ("eval_batch_size", self.eval_batch_size),
            ("eval_tokens", self.eval_tokens),
        ):
            if value < 1:
                raise ValueError(f"knob {name!r} must be 1 or more, found {value}")
        if self.num_steps < 0:
            raise ValueError(f"knob 'num_steps' must be 0 or more, found {self.num_steps}")
        if self.width % self.heads != 0 or self.width // self.heads % 2 != 0:
            raise ValueError(f"knob 'heads' must cut width = {self.width} into even parts, found {self.heads}")
        if self.warmup_fraction < 0.0 or self.cooldown_fraction < 0.0:
            raise ValueError("knobs 'warmup_fraction' and 'cooldown_fraction' must be 0 or more")
        if self.warmup_fraction + self.cooldown_fraction > 1.0:
            raise ValueError("knobs 'warmup_fraction' and 'cooldown_fraction' must add up to 1 at most")
        if self.save_factor < 1.0 or self.exit_seconds < 0.0:
            raise ValueError("knobs 'save_factor' and 'exit_seconds' must be 1 or more, and 0 or more")
        if not 0.0 <= self.batch_warmup_fraction <= 1.0:
            raise ValueError(
                f"knob 'batch_warmup_fraction' must be 0 or more and 1 at most, found {self.batch_warmup_fraction}"
            )
        if self.batch_warmup_fraction > 0.0 and not 1 <= self.batch_warmup_start < self.micro_batches:
            raise ValueError(
                f"knob 'batch_warmup_start' must be 1 or more and below micro_batches = {self.micro_batches} where "
                f"'batch_warmup_fraction' is set, found {self.batch_warmup_start}"
            )
        if self.row_pool < 0:
            raise ValueError(f"knob 'row_pool' must be 0 or more, found {self.row_pool}")
        if not 0.0 <= self.safety_save_every < 1.0:
            raise ValueError(f"knob 'safety_save_every' must be 0 or more and below 1, found {self.safety_save_every}")
        if self.stall_seconds <= 0.0:
            raise ValueError(f"knob 'stall_seconds' must be above 0, found {self.stall_seconds}")
        if self.attention_window < 0 or self.logit_softcap < 0.0:
            raise ValueError("knobs 'attention_window' and 'logit_softcap' must be 0 or more")
        if not self.window_pattern or set(self.window_pattern) - set("LS"):
            raise ValueError(f"knob 'window_pattern' must be letters L and S, found {self.window_pattern!r}")
        if self.window_pattern.count("S") == 0 and self.attention_window > 0:
            raise ValueError(
                "knob 'attention_window' must be 0 where 'window_pattern' has no S: no layer would have it"
            )
        if not self.one_window and self.attention_window == 0:
            raise ValueError("knob 'attention_window' must be set where 'window_pattern' has both letters")
        if self.skips and self.depth < 3:
            raise ValueError("knob 'skips' must be false where 'depth' is below 3: there is no block to skip")
        if self.attention_window > 0 and self.attention == "torch" and self.fused_attention:
            raise ValueError(
                "knob 'fused_attention' must be false where 'attention_window' is set: torch's operator has no window"
            )
        if self.tile_aligned and self.padding:
            raise ValueError(
                "knob 'tile_aligned' must be false, or these be multiples of 128, since of the products over them so "
                f"much is padding: {self.padding}"
            )
        if self.conv_taps != 0 and not 2 <= self.conv_taps <= 4:
            raise ValueError(f"knob 'conv_taps' must be 0 or 2 to 4, found {self.conv_taps}")
        operations = {self.norm, self.rotary, self.mlp, self.loss, self.attention, self.conv}
        if self.device != "neuron" and not operations <= {"torch", "chunked"}:
            raise ValueError(
                "knobs 'norm', 'rotary', 'mlp', 'loss' (or 'chunked'), 'attention' and 'conv' must be 'torch' where "
                "'device' is not 'neuron'"
            )
        if not 0 <= self.future_tokens < self.seq_len or self.future_weight < 0.0:
            raise ValueError("knobs 'future_tokens' must be 0 or more, below 'seq_len', and 'future_weight' 0 or more")
        if self.future_tokens > 0 and self.ngram != "none":
            raise ValueError("knob 'future_tokens' must be 0 where 'ngram' is not 'none': counts are of the next token")
        if self.bigram_rows < 0 or 0 < self.bigram_rows < 3:
            raise ValueError(f"knob 'bigram_rows' must be 0 or 3 or more, found {self.bigram_rows}")
        if self.bigram_rows > 0 and not 1 <= self.bigram_width <= self.width:
            raise ValueError(
                f"knob 'bigram_width' must be 1 to width = {self.width} where 'bigram_rows' is above 0, "
                f"found {self.bigram_width}"
            )
        if self.bigram_rows > 0 and self.vocab_size > 65_536:
            raise ValueError(
                f"knob 'bigram_rows' must be 0 where 'vocab_size' is above 65536, found {self.bigram_rows}: the hash "
                "of pairs must stay within 32 bits"
            )
        if self.experts < 0 or self.experts == 1:
            raise ValueError(f"knob 'experts' must be 0 or 2 or more, found {self.experts}")
        if self.experts > 0 and not 1 <= self.experts_per_token < self.experts:
            raise ValueError(
                f"knob 'experts_per_token' must be 1 or more and below 'experts', found {self.experts_per_token}"
            )
        if (self.experts > 0) != (self.expert_width > 0):
            raise ValueError("knob 'expert_width' must be above 0 where 'experts' is, and 0 elsewhere")
        if self.capacity_factor <= 0.0 or self.balance_weight < 0.0:
            raise ValueError("knobs 'capacity_factor' must be above 0 and 'balance_weight' 0 or more")
        known = {str(order): order for order in range(2, 17)}
        numbers = [known.get(order, 0) for order in self.ngram_orders.split(",")]
        if numbers != sorted(set(numbers)) or numbers[0] == 0:
            raise ValueError(
                f"knob 'ngram_orders' must be ascending numbers in 2 to 16 between commas, found {self.ngram_orders!r}"
            )
        if self.ngram_slots & (self.ngram_slots - 1) or self.ngram_slots > 2**19:
            raise ValueError(f"knob 'ngram_slots' must be a power of two, 2^19 at most, found {self.ngram_slots}")
        if self.ngram != "none":
            rows, cut = len(numbers) * self.ngram_slots, self.world_size * self.ngram_refresh
            if self.ngram_slots % self.world_size or rows % cut:
                raise ValueError(
                    f"knobs 'ngram_slots' and 'ngram_refresh' must cut {len(numbers)} orders of {self.ngram_slots} "
                    f"slots into equal parts: world_size * ngram_refresh = {cut}"
                )
            if self.vocab_size > 65_536 or self.vocab_size < 2 * self.ngram_followers:
                raise ValueError(
                    "knob 'ngram_followers' must be half of 'vocab_size' at most, and that 65536, found "
                    f"{self.ngram_followers} and {self.vocab_size}"
                )
            if self.ngram_sample > self.batch_size:
                raise ValueError(f"knob 'ngram_sample' must be 'batch_size' at most, found {self.ngram_sample}")
        if self.device != "neuron" and ("nki" in (self.embedding, self.ngram) or self.projection == "fp8_nki"):
            raise ValueError(
                "knobs 'embedding', 'ngram' and 'projection' must not name NKI where 'device' is not 'neuron'"
            )
        if self.device != "neuron" and "nki" in (self.muon, self.adamw, self.ema):
            raise ValueError("knobs 'muon', 'adamw' and 'ema' must be 'torch' where 'device' is not 'neuron'")
        attentions = -(-self.depth // self.attention_every)
        products = (3 if self.activation == "swiglu" else 2) * max(1, self.experts) + (self.experts > 0)  # of a block
        for name, chosen, owned in (
            ("muon", self.muon, 4 * attentions + self.depth * products + self.future_tokens),  # matrices
            (
                "adamw",
                self.adamw,
                3 + self.depth + attentions * (2 if self.conv_taps > 0 else 1),
            ),  # at least: gains, taps
        ):
            if chosen == "nki" and self.world_size > owned:
                raise ValueError(
                    f"knob {name!r} must be 'torch' where 'world_size' is above {owned}, the number of parameters that "
                    "it updates: a rank that owns none launches no kernel"
                )
        if self.sharding == "fsdp" and self.world_size == 1:
            raise ValueError("knob 'sharding' must be 'none' where 'world_size' is 1: there is nothing to share out")
        if self.sharding == "fsdp" and (self.adamw == "nki" or self.overlap or self.compile):
            raise ValueError(
                "knob 'sharding' must be 'none' where 'adamw' is 'nki', or 'overlap' or 'compile' is set: shards are "
                "no flat tensor, overlap by themselves, and are gathered by hooks, which no graph can hold"
            )
        if self.sharding == "fsdp" and self.rounds_parameters:
            raise ValueError(
                "knob 'sharding' must be 'none' where 'matrix_dtype' or 'table_dtype' is 'bfloat16': a block's "
                "parameters are gathered as one tensor, of one dtype"
            )
        if self.clip < 0.0:
            raise ValueError(f"knob 'clip' must be 0 or more, found {self.clip}")
        if not 0.0 <= self.matrix_decay * self.matrix_lr < 1.0:
            raise ValueError(
                f"knob 'matrix_decay' times 'matrix_lr' must be 0 to 1, what an update takes away, found "
                f"{self.matrix_decay} and {self.matrix_lr}"
            )
        if not 0.0 <= self.ema_decay <= 1.0:
            raise ValueError(f"knob 'ema_decay' must be 0 to 1, found {self.ema_decay}")
        if not (0.0 <= self.ema_prewarm < 1.0 and 0.0 < self.ema_blend <= 1.0):
            raise ValueError("knobs 'ema_prewarm' and 'ema_blend' must be 0 to 1, and neither without any average")
        if self.ema_decay == 0.0 and (self.ema_prewarm, self.ema_blend) != (0.0, 1.0):
            raise ValueError("knobs 'ema_prewarm' and 'ema_blend' need an average: set 'ema_decay', too")


class ConfigError(ValueError):
    """A configuration that cannot be used. The message names file and line, expectation, finding and remedy."""


def load_config(argv: list[str] | None = None) -> Config:
    """Read `--config NAME_OR_PATH` and `--knob value` overrides from `argv` (default: the command line)."""
    path, overrides = _parse_arguments(sys.argv[1:] if argv is None else argv)
    values = _read_yaml(path)
    for name, text in overrides:
        where = f"command line, --{name.replace('_', '-')}"
        values[name] = (_typed(name, _parse_scalar(text, where), where), where)
    return _build(path, values)


def _parse_arguments(argv: list[str]) -> tuple[Path, list[tuple[str, str]]]:
    config, pairs = None, []
    seen: set[str] = set()
    if len(argv) % 2:
        raise ConfigError(f"command line: {argv[-1]!r} stands alone; write every option as `--knob value`")
    for option, value in zip(argv[::2], argv[1::2], strict=True):
        if not option.startswith("--"):
            raise ConfigError(f"command line: expected an option such as --config, found {option!r}")
        name = option[2:].replace("-", "_")
        if name in seen:
            raise ConfigError(f"command line: {option} is given twice; keep one of the two")
        seen.add(name)
        if name == "config":
            config = value
        else:
            pairs.append((_known(name, "command line"), value))
    if config is None:
        raise ConfigError(f"command line: no configuration named; add --config with one of: {_names()}, or a path")
    path = Path(config) if Path(config).suffix else CONFIGS / f"{config}.yaml"
    if not path.is_file():
        raise ConfigError(f"{path}: no such configuration; known ones: {_names()}; or give the path of a YAML file")
    return path, pairs


def _names() -> str:
    return ", ".join(sorted(path.stem for path in CONFIGS.glob("*.yaml")))


def _known(name: str, where: str) -> str:
    names = [field.name for field in dataclasses.fields(Config)]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the knobs are: {', '.join(names)}"
        raise ConfigError(f"{where}: unknown knob {name!r}; {hint}")
    return name


def _read_yaml(path: Path) -> dict[str, tuple[Any, str]]:
    """Knob -> (value, "file:line"). Composed node by node, because a plain load keeps the last of two equal keys."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not YAML: {getattr(error, 'problem', error)}; correct this line") from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{path}:1: expected lines of `knob: value`; the knobs are the fields of Config")
    values: dict[str, tuple[Any, str]] = {}
    for key_node, value_node in root.value:
        where = f"{path}:{key_node.start_mark.line + 1}"
        name = _known(str(key_node.value), where)
        if name in values:
            raise ConfigError(f"{where}: knob {name!r} was already set at {values[name][1]}; keep one of the two lines")
        value = _parse_scalar(text[value_node.start_mark.index : value_node.end_mark.index], where)
        values[name] = (_typed(name, value, where), where)
    return values


def _parse_scalar(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: {text!r} is not a YAML value; quote it if it is a string") from error


def _typed(name: str, value: Any, where: str) -> Any:
    """The value in its field's type; a whole number will do for a float, nothing else is converted."""
    kind = typing.get_type_hints(Config)[name]
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if not any(type(choice) is type(value) and choice == value for choice in choices):
            expected = ", ".join(map(repr, choices))
            raise ConfigError(f"{where}: knob {name!r} must be one of {expected}, found {value!r}; correct the value")
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        found = f"{value!r} of type {type(value).__name__}"
        hint = "; write 1.0e-6, not 1e-6" if kind is float and type(value) is str else ""
        raise ConfigError(
            f"{where}: knob {name!r} must be of type {kind.__name__}, found {found}{hint}; correct the value"
        )
    return value


def _build(path: Path, values: dict[str, tuple[Any, str]]) -> Config:
    required = [field.name for field in dataclasses.fields(Config) if field.default is dataclasses.MISSING]
    missing = [name for name in required if name not in values]
    if missing:
        raise ConfigError(f"{path}: missing knob {', '.join(missing)}; add a line `{missing[0]}: VALUE`")
    try:
        return Config(**{name: value for name, (value, _) in values.items()})
    except ValueError as error:
        # The message quotes the knobs at fault; say where each of them was set.
        places = [f"{name!r} at {where}" for name, (_, where) in values.items() if f"{name!r}" in str(error)]
        raise ConfigError(f"{path}: {error}; set: {', '.join(places)}") from error
