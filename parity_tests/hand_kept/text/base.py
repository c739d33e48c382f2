#!/usr/bin/env python3
# train.py: the one file that we edit, run and upload. Keep it runnable by itself:
#
#   FF_DEPTH=9 FF_ACT=swiglu torchrun --standalone --nproc_per_node=8 train.py --seq-len 1024 --num-steps 3400
#
# History of this file, newest last (older entries: see the notes of August)
#   v31  value residual on, softcap 15
#   v32  muon for the matrices, adamw for the rest
#   v33  everything is a knob now, so that sweeps need no branches. To clean up before the upload!!
#   v34  --schedule wsd is the default; cosine kept for the ablation
"""Train a small GPT from scratch within the budget and leave out/final.pt."""

import argparse
import collections
import functools
import hashlib
import json
import math
import os
import random
import re
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Optional

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

# ---------------------------------------------------------------------------------------------------------------------
# Knob helpers. Everything in this file is set by FF_* variables or by flags; flags are for what differs between
# uploads, variables for what differs between experiments (that was the idea, at least).
# ---------------------------------------------------------------------------------------------------------------------

_TRUE = {"1", "true", "yes", "on", "y"}
_FALSE = {"0", "false", "no", "off", "n", ""}


def _env_raw(name, default=None):
    """The text of a variable; unset and blank are the same thing, because the queue exports blanks."""
    value = os.environ.get(name)
    if value is None or value.strip() == "":
        return default
    return value.strip()


def _env_int(name, default):
    raw = _env_raw(name)
    if raw is None:
        return default
    try:
        return int(raw.replace("_", ""))
    except ValueError:
        raise SystemExit(f"{name} must be a whole number, got {raw!r}")


def _env_float(name, default, low=None, high=None):
    raw = _env_raw(name)
    if raw is None:
        value = default
    else:
        try:
            value = float(raw)
        except ValueError as error:
            raise SystemExit(f"{name} must be a number, got {raw!r}") from error
    if low is not None and value < low:
        raise SystemExit(f"{name}={value} is below {low}")
    if high is not None and value > high:
        raise SystemExit(f"{name}={value} is above {high}")
    return value


def _env_bool(name, default=False):
    raw = os.environ.get(name)
    if raw is None:
        return default
    lowered = raw.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise SystemExit(f"{name} must be a boolean, got {raw!r}")


def _env_choice(name, default, choices):
    value = _env_raw(name, default)
    if value not in choices:
        raise SystemExit(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def _env_list(name, default, cast=int, sep=","):
    raw = _env_raw(name)
    if raw is None:
        return tuple(default)
    values = []
    for piece in raw.split(sep):
        piece = piece.strip()
        if not piece:
            continue
        try:
            values.append(cast(piece))
        except ValueError:
            raise SystemExit(f"{name}: cannot read {piece!r}")
    return tuple(values)


def _env_first(*names, default=None):
    """Renamed knobs: the first of these names that is set."""
    for name in names:
        if name in os.environ:
            return os.environ[name]
    return default


def _env_points(name, default):
    """`0:1.0,500:0.5` as ((0, 1.0), (500, 0.5))."""
    points = []
    for piece in _env_raw(name, default).split(","):
        step, colon, value = piece.partition(":")
        if not colon:
            raise SystemExit(f"{name}: {piece!r} is not STEP:VALUE")
        points.append((int(step), float(value)))
    return tuple(points)


def _round_up(value, multiple):
    return (value + multiple - 1) // multiple * multiple


# ---------------------------------------------------------------------------------------------------------------------
# What the launcher says. Never set these by hand.
# ---------------------------------------------------------------------------------------------------------------------

RANK = int(os.environ.get("RANK", "0"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))
WORLD_SIZE = int(os.getenv("WORLD_SIZE", "1"))
IS_DDP = "RANK" in os.environ and "WORLD_SIZE" in os.environ
MASTER = RANK == 0


def print0(*words, **kwargs):
    if MASTER:
        print(*words, **kwargs, flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# Shape of the model
# ---------------------------------------------------------------------------------------------------------------------

VOCAB = _env_int("FF_VOCAB", 256)
DEPTH = _env_int("FF_DEPTH", 2)
WIDTH = int(os.environ.get("FF_WIDTH", "32"))
HEAD_DIM = _env_int("FF_HEAD_DIM", 8)
HEADS = _env_int("FF_HEADS", max(1, WIDTH // HEAD_DIM))
KV_HEADS = _env_int("FF_KV_HEADS", HEADS)
MLP_RATIO = _env_float("FF_MLP_RATIO", 4.0, low=0.5, high=16)
HIDDEN = _round_up(int(WIDTH * MLP_RATIO), 8)  # multiples of 8, the systolic array likes them
ACT = _env_choice("FF_ACT", "relu2", ("relu2", "gelu", "silu", "swiglu", "geglu"))
GATED = ACT in ("swiglu", "geglu")
NORM = os.environ.get("FF_NORM", "rms")
NORM_EPS = float(os.getenv("FF_NORM_EPS", "1e-6"))
NORM_AFFINE = _env_bool("FF_NORM_AFFINE", NORM == "layer")
POST_NORM = _env_bool("FF_POST_NORM")
ROPE_BASE = _env_float("FF_ROPE_BASE", 10_000.0)
ROPE_FRACTION = _env_float("FF_ROPE_FRACTION", 1.0, low=0.0, high=1.0)
ROPE_DIMS = int(HEAD_DIM * ROPE_FRACTION) // 2 * 2
QK_NORM = _env_bool("FF_QK_NORM", True)
ATTN = _env_choice("FF_ATTN", "sdpa", ("sdpa", "manual", "window"))
WINDOW = _env_int("FF_WINDOW", 16)
# 1.0 / sqrt(d) or the 0.12 of the speedruns
ATTN_SCALE = _env_float("FF_ATTN_SCALE", 0.12) if os.environ.get("FF_FIXED_SCALE", "0") == "1" else None
VALUE_RESIDUAL = "FF_NO_VALUE_RESIDUAL" not in os.environ
SKIP_WEIGHTS = _env_bool("FF_SKIP_WEIGHTS", DEPTH >= 4)
SOFTCAP = _env_float("FF_SOFTCAP", 15.0)
TIED = _env_bool("FF_TIED")
EMBED_SCALE = math.sqrt(WIDTH) if os.environ.get("FF_EMBED_SCALE") else 1.0
X0_MIX = _env_float("FF_X0_MIX", 0.0)
SHARED_LAYERS = _env_list("FF_SHARED_LAYERS", ())
WINDOWED_LAYERS = _env_list("FF_WINDOWED_LAYERS", range(0, DEPTH, 2)) if ATTN == "window" else ()
INIT_STD = _env_float("FF_INIT_STD", 0.02)
ZERO_INIT = _env_bool("FF_ZERO_INIT", True)
BOTTLENECK = _env_int("FF_BOTTLENECK", 0)  # 0: none
DROPOUT = _env_float("FF_DROPOUT", 0.0, low=0.0, high=0.9)

# ---------------------------------------------------------------------------------------------------------------------
# Optimizers and schedule
# ---------------------------------------------------------------------------------------------------------------------

MUON_LR = float(_env_first("FF_MUON_LR", "FF_MATRIX_LR", default="0.02"))
MUON_MOMENTUM = _env_float("FF_MUON_MOMENTUM", 0.95)
MUON_STEPS = _env_int("FF_NS_STEPS", 5)
MUON_NESTEROV = _env_bool("FF_NESTEROV", True)
MUON_COEFFS = _env_list("FF_NS_COEFFS", (3.4445, -4.7750, 2.0315), cast=float)
MUON_WARMUP = _env_int("FF_MOMENTUM_WARMUP", 300)
OPT = os.environ.get("FF_OPT", "muon")
BETAS = _env_list("FF_BETAS", (0.8, 0.95), cast=float)
ADAM_EPS = float(os.environ.get("FF_ADAM_EPS", "1e-10"))
EMBED_LR_MULT = _env_float("FF_EMBED_LR_MULT", 10.0)
HEAD_LR_MULT = _env_float("FF_HEAD_LR_MULT", 0.25)
SCALAR_LR_MULT = _env_float("FF_SCALAR_LR_MULT", 1.0)
WEIGHT_DECAY = _env_float("FF_WEIGHT_DECAY", 0.0)
CAUTIOUS = _env_bool("FF_CAUTIOUS")
WARMUP = _env_int("FF_WARMUP", 2)
WARMDOWN = _env_int("FF_WARMDOWN", DEPTH * 40)
LR_POINTS = _env_points("FF_LR_POINTS", "0:1.0,100:0.5,400:0.1") if os.getenv("FF_USE_POINTS") else ()
EMA = _env_float("FF_EMA", 0.0)
EMA_EVERY = _env_int("FF_EMA_EVERY", 1 if EMA < 0.99 else 5)
CLIP = _env_float("FF_CLIP", 1.0)
ACCUM = _env_int("FF_ACCUM", 1)

# ---------------------------------------------------------------------------------------------------------------------
# Loss, data, bookkeeping
# ---------------------------------------------------------------------------------------------------------------------

Z_LOSS = _env_float("FF_Z_LOSS", 0.0)
SMOOTHING = _env_float("FF_SMOOTHING", 0.0, 0.0, 0.5)
MTP_WEIGHT = _env_float("FF_MTP_WEIGHT", 0.0)
DOC_LEN = _env_int("FF_DOC_LEN", 24)
SEED = _env_int("FF_SEED", 1234)
DATA_SEED = _env_int("FF_DATA_SEED", SEED + 1)
TIME_BUDGET = _env_float("FF_TIME_BUDGET", 1800.0)
RESERVE = _env_float("FF_RESERVE", 5.0) + (2.0 if WORLD_SIZE > 1 else 0.0)
RUN_TAG = os.environ.setdefault("FF_TAG", f"d{DEPTH}w{WIDTH}")
RUN_NAME = f"{os.environ['FF_TAG']}-{ACT}{'-tied' if TIED else ''}"
PROFILE = _env_bool("FF_PROFILE")
DUMP_ENV = _env_bool("FF_DUMP_ENV")
LOG_EVERY = _env_int("FF_LOG_EVERY", 1)
DTYPE = {"fp32": torch.float32, "bf16": torch.bfloat16}[os.environ.get("FF_DTYPE", "fp32")]
if "FF_DETERMINISTIC" in os.environ:
    torch.use_deterministic_algorithms(os.environ["FF_DETERMINISTIC"] != "0")
if DEPTH < 1 or WIDTH % HEAD_DIM:
    raise SystemExit(f"FF_DEPTH={DEPTH} FF_WIDTH={WIDTH} FF_HEAD_DIM={HEAD_DIM}: no such model")
if HEADS % KV_HEADS:
    raise SystemExit(f"{HEADS} heads cannot share {KV_HEADS} key/value heads")

#: here constants


@dataclass(frozen=True)
class ModelConfig:
    """What the checkpoint must say for the model to be built again."""

    vocab: int = VOCAB
    depth: int = DEPTH
    width: int = WIDTH
    heads: int = HEADS
    kv_heads: int = KV_HEADS
    hidden: int = HIDDEN
    softcap: float = SOFTCAP
    parallel: bool = _env_bool("FF_PARALLEL")
    attn_gate: bool = bool(int(os.environ.get("FF_ATTN_GATE", "0")))
    logit_bias: bool = _env_bool("FF_LOGIT_BIAS")
    head_norm: str = _env_choice("FF_HEAD_NORM", NORM, ("rms", "layer", "none"))


CFG = ModelConfig()

# ---------------------------------------------------------------------------------------------------------------------
# Flags
# ---------------------------------------------------------------------------------------------------------------------


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description="train", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=int(os.environ.get("FF_NUM_STEPS", "4")), help="updates")
    parser.add_argument("--seq-len", type=int, default=32)
    parser.add_argument("--batch-size", "-b", type=int, default=_env_int("FF_BATCH", 4), help="sequences a rank")
    parser.add_argument("--lr", type=float, default=0.004)
    parser.add_argument("--min-lr", type=float, default=None, help="default: a tenth of --lr")
    parser.add_argument("--schedule", choices=["wsd", "cosine", "linear", "constant"], default="wsd")
    parser.add_argument("--decay-to", type=float, default=0.05)
    parser.add_argument("--warmup-steps", type=int, default=WARMUP)
    parser.add_argument("--out-dir", default="out")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--compile-backend", default=None)
    parser.add_argument("--save", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--shuffle", action="store_true", help="another order of the documents")
    parser.add_argument("--no-clip", dest="clip", action="store_false")
    parser.add_argument("--timing", action="store_true", help="print seconds (the lines then differ from run to run)")
    parser.add_argument("--echo-flags", action="store_true")
    parser.add_argument("--data", choices=("synthetic", "kit"), default="synthetic")
    parser.add_argument("--dist-backend", default="gloo", choices=["gloo", "nccl", "neuron"])
    group = parser.add_argument_group("evaluation")
    group.add_argument("--eval-every", type=int, default=0)
    group.add_argument("--eval-batches", type=int, default=1)
    group.add_argument("--eval-seq-len", type=int, default=None)
    group.add_argument("--final-eval", action=argparse.BooleanOptionalAction, default=True)
    group = parser.add_argument_group("optimizer")
    group.add_argument("--betas", type=float, nargs=2, default=None, metavar=("B1", "B2"))
    group.add_argument("--freeze-layers", type=int, nargs="*", default=[])
    group.add_argument("--grad-accum", type=int, default=ACCUM)
    group.add_argument("--muon-lr", type=float, default=MUON_LR)
    group.add_argument("--muon-scale", choices=["none", "aspect", "rms"], default="aspect")
    exclusive = group.add_mutually_exclusive_group()
    exclusive.add_argument("--foreach", action="store_true")
    exclusive.add_argument("--fused", action="store_true")
    for name, value in (("embed", EMBED_LR_MULT), ("head", HEAD_LR_MULT), ("scalar", SCALAR_LR_MULT)):
        parser.add_argument(f"--{name}-lr-mult", type=float, default=value, help=f"times --lr, for the {name} group")
    for name in ("grad-norm", "param-norm", "tokens"):
        parser.add_argument(f"--log-{name}", action="store_true")
    #: here flags
    args = parser.parse_args(argv)
    if args.min_lr is None:
        args.min_lr = args.lr * 0.1
    if args.betas is None:
        args.betas = list(BETAS)
    if args.eval_seq_len is None:
        args.eval_seq_len = args.seq_len
    if args.compile and args.compile_backend is None:
        args.compile_backend = "inductor"
    if args.warmup_steps > args.num_steps:
        parser.error("--warmup-steps is above --num-steps")
    #: here after parsing
    return args


# ---------------------------------------------------------------------------------------------------------------------
# Norms and activations
# ---------------------------------------------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, width, eps=NORM_EPS, affine=NORM_AFFINE):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(width)) if affine else None

    def forward(self, x):
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return x if self.gain is None else x * self.gain


class LayerNorm(nn.Module):
    # no bias, as in the baseline
    def __init__(self, width, eps=1e-5, affine=True):
        super().__init__()
        self.eps = eps
        self.width = width
        self.gain = nn.Parameter(torch.ones(width)) if affine else None

    def forward(self, x):
        return F.layer_norm(x, (self.width,), self.gain, None, self.eps)


def make_norm(width):
    if NORM == "rms":
        return RMSNorm(width)
    elif NORM == "layer":
        return LayerNorm(width, NORM_EPS, NORM_AFFINE)
    elif NORM == "none":
        return nn.Identity()
    raise SystemExit(f"FF_NORM={NORM}?")


def relu2(x):
    return F.relu(x).square()


def swiglu(x):
    a, b = x.chunk(2, dim=-1)
    return F.silu(a) * b


def geglu(x):
    a, b = x.chunk(2, dim=-1)
    return F.gelu(a) * b


#: here functions

ACTIVATIONS = {
    "relu2": relu2,
    "gelu": F.gelu,
    "silu": F.silu,
    "swiglu": swiglu,
    "geglu": geglu,
}
act_fn = {"relu2": relu2, "gelu": F.gelu, "silu": F.silu, "swiglu": swiglu, "geglu": geglu}[ACT]


# ---------------------------------------------------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------------------------------------------------


class Rotary(nn.Module):
    def __init__(self, dims, base=ROPE_BASE):
        super().__init__()
        self.dims = dims
        inverse = base ** (-torch.arange(0, dims, 2, dtype=torch.float32) / max(dims, 1))
        self.register_buffer("inverse", inverse, persistent=False)

    def forward(self, x):
        if self.dims == 0:
            return x
        t = torch.arange(x.size(1), device=x.device, dtype=torch.float32)
        angles = torch.outer(t, self.inverse)
        cos, sin = (f(angles)[None, :, None, :].to(x.dtype) for f in (torch.cos, torch.sin))
        rotated, rest = x[..., : self.dims], x[..., self.dims :]
        a, b = rotated.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], dim=-1)


def manual_attention(q, k, v, scale, window):
    T = q.size(2)
    scores = (q @ k.transpose(-2, -1)) * (scale or 1.0 / math.sqrt(q.size(-1)))
    mask = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    if window:
        mask = mask.triu(1 - window)
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


class Attention(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.q = nn.Linear(CFG.width, CFG.heads * HEAD_DIM, bias=False)
        self.k = nn.Linear(CFG.width, CFG.kv_heads * HEAD_DIM, bias=False)
        self.v = nn.Linear(CFG.width, CFG.kv_heads * HEAD_DIM, bias=False)
        self.o = nn.Linear(CFG.heads * HEAD_DIM, CFG.width, bias=False)
        self.rotary = Rotary(ROPE_DIMS)
        if CFG.attn_gate:
            self.gate = nn.Linear(CFG.width, CFG.heads, bias=True)
        if VALUE_RESIDUAL and layer > 0:
            self.mix = nn.Parameter(torch.tensor(0.5))
        #: here attention init

    def forward(self, x, first_value):
        B, T, _ = x.shape
        q = self.q(x).view(B, T, CFG.heads, HEAD_DIM)
        k = self.k(x).view(B, T, CFG.kv_heads, HEAD_DIM)
        v = self.v(x).view(B, T, CFG.kv_heads, HEAD_DIM)
        if VALUE_RESIDUAL and self.layer > 0:
            v = self.mix * v + (1 - self.mix) * first_value
        first_value = v if first_value is None else first_value
        if QK_NORM:
            q, k = F.rms_norm(q, (HEAD_DIM,)), F.rms_norm(k, (HEAD_DIM,))
        q, k = self.rotary(q), self.rotary(k)
        #: here attention
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if CFG.kv_heads != CFG.heads:
            k = k.repeat_interleave(CFG.heads // CFG.kv_heads, dim=1)
            v = v.repeat_interleave(CFG.heads // CFG.kv_heads, dim=1)
        if ATTN == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=ATTN_SCALE)
        elif ATTN == "window" and self.layer in WINDOWED_LAYERS:
            y = manual_attention(q, k, v, ATTN_SCALE, WINDOW)
        else:
            y = manual_attention(q, k, v, ATTN_SCALE, 0)
        y = y.transpose(1, 2)
        if CFG.attn_gate:
            y = y * torch.sigmoid(self.gate(x)).unsqueeze(-1)
        return self.o(y.reshape(B, T, -1)), first_value


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(CFG.width, CFG.hidden * (2 if GATED else 1), bias=False)
        self.down = nn.Linear(CFG.hidden, CFG.width, bias=False)
        #: here mlp init

    def forward(self, x):
        h = act_fn(self.up(x))
        #: here mlp
        if DROPOUT > 0.0 and self.training:
            h = F.dropout(h, DROPOUT)
        return self.down(h)


class Block(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.norm1 = make_norm(CFG.width)
        self.norm2 = make_norm(CFG.width)
        self.attn = Attention(layer)
        self.mlp = MLP()
        if X0_MIX:
            self.lambdas = nn.Parameter(torch.tensor([1.0, X0_MIX]))
        #: here block init

    def forward(self, x, x0, first_value):
        if X0_MIX:
            x = self.lambdas[0] * x + self.lambdas[1] * x0
        #: here block
        if CFG.parallel:
            h = self.norm1(x)
            a, first_value = self.attn(h, first_value)
            return x + a + self.mlp(h), first_value
        if POST_NORM:
            a, first_value = self.attn(x, first_value)
            x = self.norm1(x + a)
            return self.norm2(x + self.mlp(x)), first_value
        a, first_value = self.attn(self.norm1(x), first_value)
        x = x + a
        return x + self.mlp(self.norm2(x)), first_value


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CFG.vocab, CFG.width)
        self.blocks = nn.ModuleList([Block(layer) for layer in range(CFG.depth)])
        for layer in SHARED_LAYERS:
            self.blocks[layer].mlp = self.blocks[0].mlp
        self.norm = {"rms": RMSNorm, "layer": LayerNorm, "none": nn.Identity}[CFG.head_norm](CFG.width)
        if BOTTLENECK:
            self.squeeze = nn.Linear(CFG.width, BOTTLENECK, bias=False)
        self.head = nn.Linear(BOTTLENECK or CFG.width, CFG.vocab, bias=CFG.logit_bias)
        if TIED and not BOTTLENECK:
            self.head.weight = self.embed.weight
        if SKIP_WEIGHTS:
            self.skips = nn.Parameter(torch.zeros(CFG.depth // 2))
        if MTP_WEIGHT > 0:
            self.mtp = nn.Linear(CFG.width, CFG.width, bias=False)
        #: here model init
        self.apply(self.init_weights)

    def init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=INIT_STD)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
            #: here init
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=INIT_STD if TIED else 1.0)
        if isinstance(module, Block) and ZERO_INIT:
            nn.init.zeros_(module.attn.o.weight)
            nn.init.zeros_(module.mlp.down.weight)

    def features(self, tokens):
        x = self.embed(tokens.long()) * EMBED_SCALE
        x = F.rms_norm(x, (CFG.width,)) if NORM == "rms" else x
        #: here embedding
        x0, first_value = x, None
        kept = []
        for layer, block in enumerate(self.blocks):
            if SKIP_WEIGHTS:
                if layer < CFG.depth // 2:
                    kept.append(x)
                elif kept:
                    x = x + self.skips[len(kept) - 1] * kept.pop()
            x, first_value = block(x, x0, first_value)
        return self.norm(x)

    def logits(self, x):
        x = self.head(self.squeeze(x) if BOTTLENECK else x).float()
        if CFG.softcap > 0:
            x = CFG.softcap * torch.tanh(x / CFG.softcap)
        #: here logits
        return x

    def forward(self, tokens, targets=None):
        x = self.features(tokens)
        logits = self.logits(x)
        if targets is None:
            return logits
        return self.loss(x, logits, targets)

    def loss(self, x, logits, targets):
        flat, wanted = logits.flatten(0, 1), targets.flatten()
        loss = F.cross_entropy(flat, wanted, label_smoothing=SMOOTHING)
        if Z_LOSS > 0:
            loss = loss + Z_LOSS * torch.logsumexp(flat, dim=-1).square().mean()
        if MTP_WEIGHT > 0:
            ahead = self.logits(self.mtp(x[:, :-1]))
            loss = loss + MTP_WEIGHT * F.cross_entropy(ahead.flatten(0, 1), targets[:, 1:].flatten())
        #: here loss
        return loss


# ---------------------------------------------------------------------------------------------------------------------
# Optimizers
# ---------------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def newton_schulz(G, steps=MUON_STEPS):
    a, b, c = MUON_COEFFS
    X = G / (G.norm() + 1e-7)
    tall = G.size(0) > G.size(1)
    if tall:
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if tall else X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=MUON_LR, momentum=MUON_MOMENTUM, scale="aspect"):
        super().__init__(params, dict(lr=lr, momentum=momentum, scale=scale))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(p.grad)
                buffer = state["buffer"]
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(buffer, group["momentum"]) if MUON_NESTEROV else buffer
                update = newton_schulz(update)
                if CAUTIOUS:
                    mask = (update * p.grad > 0).to(update.dtype)
                    update = update * mask / mask.mean().clamp(min=1e-3)
                if group["scale"] == "aspect":
                    update = update * max(1.0, p.size(0) / p.size(1)) ** 0.5
                elif group["scale"] == "rms":
                    update = update * 0.2 * math.sqrt(max(p.shape))
                if WEIGHT_DECAY:
                    p.mul_(1 - group["lr"] * WEIGHT_DECAY)
                p.add_(update, alpha=-group["lr"])


class Lion(torch.optim.Optimizer):
    # lost against adamw in every sweep, kept for the appendix
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                p.add_(state["m"].lerp(p.grad, 1 - b1).sign(), alpha=-group["lr"])
                state["m"].lerp_(p.grad, 1 - b2)


#: here optimizers


def build_optimizers(model, args):
    matrices, embeds, heads, scalars = [], [], [], []
    for name, p in model.named_parameters():
        if any(name.startswith(f"blocks.{layer}.") for layer in args.freeze_layers):
            p.requires_grad_(False)
            continue
        if name.startswith("embed."):
            embeds.append(p)
        elif name.startswith("head."):
            heads.append(p)
        elif p.ndim == 2:
            matrices.append(p)
        else:
            scalars.append(p)
    groups = [
        {"params": embeds, "lr": args.lr * args.embed_lr_mult},
        {"params": heads, "lr": args.lr * args.head_lr_mult},
        {"params": scalars, "lr": args.lr * args.scalar_lr_mult},
    ]
    groups = [group for group in groups if group["params"]]
    betas = (args.betas[0], args.betas[1])
    if OPT == "lion":
        optimizers = [Lion(groups + [{"params": matrices, "lr": args.lr * 0.1}], betas=betas)]
    elif OPT == "adamw":
        groups.append({"params": matrices, "lr": args.lr})
        optimizers = [torch.optim.AdamW(groups, betas=betas, eps=ADAM_EPS, weight_decay=WEIGHT_DECAY)]
    #: here optimizer choice
    else:
        extra = {"foreach": True} if args.foreach else {"fused": True} if args.fused else {}
        optimizers = [
            torch.optim.AdamW(groups, betas=betas, eps=ADAM_EPS, weight_decay=0.0, **extra),
            Muon(matrices, lr=args.muon_lr, scale=args.muon_scale),
        ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return optimizers


# ---------------------------------------------------------------------------------------------------------------------
# Schedules
# ---------------------------------------------------------------------------------------------------------------------


def lr_multiplier(step, args):
    floor = args.min_lr / args.lr
    if step < args.warmup_steps:
        return (step + 1) / (args.warmup_steps + 1)
    done = (step - args.warmup_steps) / max(1, args.num_steps - args.warmup_steps)
    if LR_POINTS:
        for at, value in reversed(LR_POINTS):
            if step >= at:
                return value
    if args.schedule == "constant":
        return 1.0
    if args.schedule == "cosine":
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done))
    if args.schedule == "linear":
        return 1.0 - (1.0 - floor) * done
    #: here schedule
    left = args.num_steps - step
    return 1.0 if left > WARMDOWN else args.decay_to + (1 - args.decay_to) * left / WARMDOWN


def momentum_at(step):
    if MUON_WARMUP <= 0:
        return MUON_MOMENTUM
    mix = min(step / MUON_WARMUP, 1.0)
    return (1 - mix) * 0.85 + mix * MUON_MOMENTUM


# ---------------------------------------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------------------------------------


def synthetic_batches(batch_size, seq_len, args):
    """Documents that count up from a random start in random strides: learnable, endless, the same everywhere."""
    rng = random.Random(DATA_SEED * 1009 + RANK)
    bos = CFG.vocab - 1
    order = list(range(1, 8))
    if args.shuffle:
        rng.shuffle(order)
    stream = []
    while True:
        while len(stream) < batch_size * (seq_len + 1):
            start, stride = rng.randrange(bos), order[rng.randrange(len(order))]
            document = [(start + stride * i) % bos for i in range(DOC_LEN)]
            #: here documents
            stream += [bos] + document
        rows = torch.tensor(stream[: batch_size * (seq_len + 1)]).view(batch_size, seq_len + 1)
        del stream[: batch_size * (seq_len + 1)]
        yield rows[:, :-1].to(torch.int32), rows[:, 1:].contiguous()


def kit_batches(batch_size, seq_len, args):
    import prepare  # only there on the contest's machine

    tokenizer = prepare.ensure_tokenizer()
    for inputs, targets, _ in prepare.make_dataloader(tokenizer, batch_size, seq_len, "train", "cpu"):
        yield inputs, targets


def make_batches(batch_size, seq_len, args):
    loader = {"synthetic": synthetic_batches, "kit": kit_batches}[args.data]
    return loader(batch_size, seq_len, args)


# ---------------------------------------------------------------------------------------------------------------------
# Evaluation on held-out synthetic documents; NOT the contest's
# ---------------------------------------------------------------------------------------------------------------------


@torch.no_grad()
def quick_eval(model, args):
    model.eval()
    batches = make_batches(args.batch_size, args.eval_seq_len, args)
    total = 0.0
    for _ in range(args.eval_batches):
        inputs, targets = next(batches)
        total += F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
    model.train()
    return total / args.eval_batches


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints
# ---------------------------------------------------------------------------------------------------------------------


def save_checkpoint(model, step, args):
    os.makedirs(args.out_dir, exist_ok=True)
    path = os.path.join(args.out_dir, "final.pt")
    config = {"vocab": CFG.vocab, "depth": CFG.depth, "width": CFG.width, "heads": CFG.heads, "act": ACT, "norm": NORM}
    meta = {
        "step": step,
        "run": RUN_NAME,
        "total_train_tokens": step * tokens_per_update(args),
        "world_size": WORLD_SIZE,
        "lr": args.lr,
        "min_lr": args.min_lr,
    }
    #: here meta
    state = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    torch.save({"model_state": state, "model_config": config, "meta": meta}, path)
    print0(f"checkpoint_path: {path}")


def load_for_eval(checkpoint_path, device):
    """The trained model on one device, in eval mode: forward(tokens) -> logits."""
    checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    config = checkpoint["model_config"]
    if config["depth"] != CFG.depth or config["width"] != CFG.width:
        raise ValueError(f"{checkpoint_path} holds a model of depth {config['depth']}, width {config['width']}")
    model = GPT()
    model.load_state_dict(checkpoint["model_state"], strict=True)
    return model.to(device).eval()


# ---------------------------------------------------------------------------------------------------------------------
# The loop
# ---------------------------------------------------------------------------------------------------------------------


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= WORLD_SIZE


def out_of_time(started, last):
    return time.monotonic() - started + last + RESERVE > TIME_BUDGET


def tokens_per_update(args):
    return args.batch_size * args.seq_len * args.grad_accum * WORLD_SIZE


def describe(model, args):
    n = sum(p.numel() for p in model.parameters())
    print0(f"run {RUN_NAME}: {n:,} parameters, {tokens_per_update(args)} tokens per update")
    print0(f"attention {ATTN}{f' window {WINDOW}' if ATTN == 'window' else ''}, norm {NORM}, lr {args.lr:.5f}")
    if args.echo_flags:
        for key, value in sorted(vars(args).items()):
            print0(f"  {key} = {value}")
    if DUMP_ENV:
        for key in sorted(os.environ):
            if key.startswith("FF_"):
                print0(f"  {key}={os.environ[key]}")


def train(args):
    started = time.monotonic()
    if IS_DDP and WORLD_SIZE > 1:
        dist.init_process_group(args.dist_backend)
    torch.manual_seed(SEED)
    random.seed(SEED)
    model = GPT()
    if DTYPE is not torch.float32:
        model = model.to(DTYPE)
    describe(model, args)
    optimizers = build_optimizers(model, args)
    step_model = torch.compile(model, backend=args.compile_backend) if args.compile else model
    batches = make_batches(args.batch_size, args.seq_len, args)
    average = {k: v.detach().clone() for k, v in model.state_dict().items()} if EMA > 0 else None
    context = torch.autograd.profiler.profile() if PROFILE else nullcontext()
    #: here before the loop
    last = 0.0
    step = 0
    with context:
        while step < args.num_steps:
            before = time.monotonic()
            if out_of_time(started, last):
                print0("out of time")
                break
            multiplier = lr_multiplier(step, args)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = group["initial_lr"] * multiplier
                    if "momentum" in group:
                        group["momentum"] = momentum_at(step)
            total = 0.0
            for micro in range(args.grad_accum):
                inputs, targets = next(batches)
                loss = step_model(inputs, targets)
                #: here micro batch
                if args.grad_accum > 1:
                    loss = loss / args.grad_accum
                loss.backward()
                total += loss.item()
            if WORLD_SIZE > 1:
                average_gradients(model)
            norm = None
            if args.clip and CLIP > 0:
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            #: here before the update
            for optimizer in optimizers:
                optimizer.step()
            #: here after the update
            if average is not None and step % EMA_EVERY == 0:
                with torch.no_grad():
                    for key, value in model.state_dict().items():
                        average[key].lerp_(value, 1 - EMA)
            model.zero_grad(set_to_none=True)
            last = time.monotonic() - before
            if step % LOG_EVERY == 0:
                line = f"step {step:05d} | loss {total!r} | lrm {multiplier:.4f}"
                if args.log_grad_norm and norm is not None:
                    line += f" | gnorm {norm.item()!r}"
                if args.log_param_norm:
                    line += f" | pnorm {sum(p.detach().square().sum().item() for p in model.parameters())!r}"
                if args.log_tokens:
                    line += f" | tokens {(step + 1) * tokens_per_update(args):,}"
                if args.timing:
                    line += f" | dt {last:.2f}s"
                print0(line)
            step += 1
            if args.eval_every and step % args.eval_every == 0:
                print0(f"eval at {step}: {quick_eval(model, args)!r}")
    if average is not None:
        model.load_state_dict(average)
    #: here after the loop
    if args.final_eval:
        print0(f"eval: {quick_eval(model, args)!r}")
    if args.save and MASTER:
        save_checkpoint(model, step, args)
    if IS_DDP and WORLD_SIZE > 1:
        dist.destroy_process_group()


def main():
    args = parse_args()
    train(args)


if __name__ == "__main__":
    main()
