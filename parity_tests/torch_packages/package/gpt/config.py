"""The configuration: a dataclass made from the command line."""

import argparse
import dataclasses
import os
from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class GPTConfig:
    depth: int = 2
    width: int = 32
    heads: int = 4
    vocab: int = 64
    seq_len: int = 16
    batch_size: int = 4
    norm: str = "rms"
    mlp: str = "relu2"
    optimizer: str = "muon"
    lr: float = 0.01
    betas: Tuple[float, float] = (0.9, 0.95)
    num_steps: int = 4
    warmup: int = 1
    seed: int = 0
    dropout: float = 0.0
    bias: bool = False
    tie: bool = False
    softcap: Optional[float] = None

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    @property
    def tokens_per_step(self) -> int:
        return self.batch_size * self.seq_len


def build_parser():
    p = argparse.ArgumentParser("gpt")
    p.add_argument("--depth", type=int, default=int(os.environ.get("GPT_DEPTH", 2)))
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--heads", type=int, default=0, help="0: one for every 8 channels")
    p.add_argument("--seq-len", type=int, default=16)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--norm", choices=("rms", "layer"), default="rms")
    p.add_argument("--mlp", choices=("relu2", "swiglu", "gelu"), default="relu2")
    p.add_argument("--optimizer", choices=("muon", "adamw", "sgd"), default=os.environ.get("GPT_OPTIMIZER", "muon"))
    p.add_argument("--lr", type=float, default=None)
    p.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.95))
    p.add_argument("--num-steps", type=int, default=4)
    p.add_argument("--warmup", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--bias", action=argparse.BooleanOptionalAction, default=False)
    p.add_argument("--tie", action="store_true")
    p.add_argument("--softcap", type=float)
    return p


def parse_config(argv=None):
    """The frozen configuration of this run."""
    args = build_parser().parse_args(argv)
    heads = args.heads or args.width // 8
    if args.width % heads:
        raise SystemExit(f"--width {args.width} is no multiple of {heads} heads")
    config = GPTConfig(
        depth=args.depth,
        width=args.width,
        heads=heads,
        seq_len=args.seq_len,
        batch_size=args.batch_size,
        norm=args.norm,
        mlp=args.mlp,
        optimizer=args.optimizer,
        lr={"muon": 0.02, "adamw": 0.003, "sgd": 0.1}[args.optimizer] if args.lr is None else args.lr,
        betas=tuple(args.betas),
        num_steps=args.num_steps,
        warmup=args.warmup,
        seed=args.seed,
        dropout=args.dropout,
        bias=args.bias,
        tie=args.tie,
        softcap=args.softcap,
    )
    if "GPT_SEED" in os.environ:
        config = dataclasses.replace(config, seed=int(os.environ["GPT_SEED"]))
    return config
