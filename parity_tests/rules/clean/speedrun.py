"""A decoder-only transformer, trained with Muon and AdamW on the full chip in a fixed time.

Launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py
Budget: 60 seconds of training, start-up of up to 30 seconds beside it; the loop stops in time to save.
Model: 6 blocks of 384, 6 heads with rotary positions and normalised queries and keys, squared ReLU, untied head.
The scorer calls load_for_eval(checkpoint_path, device): it gives the whole model back, in eval mode, on one device.
"""

import math
import os
import time
from pathlib import Path

import nki
import nki.isa as nisa
import nki.language as nl
import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_neuronx
from prepare import (
    TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS,
    TRAIN_STARTUP_STEPS_EXCLUDED,
    TRAIN_TIME_BUDGET_SECONDS,
    ensure_tokenizer,
    get_dist_info,
    make_dataloader,
    print0,
    record_step_boundary,
)
from torch import Tensor, nn
from torch_neuronx import wrap_nki

os.environ["NEURON_CC_FLAGS"] = "--optlevel=1 --model-type=transformer --auto-cast=none"
os.environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"] = "1"

STARTED = time.time()
OUTPUT = Path("out")
CHECKPOINT = OUTPUT / "final.pt"

SEED = 1337
VOCABULARY = 2048
DEPTH = 6
WIDTH = 384
HEADS = 6
HEAD_WIDTH = WIDTH // HEADS
CONTEXT = 128
BATCH = 8  # rows of one rank
LOGIT_CAP = 15.0  # keeps early logits from running away; 30 was a little worse
ROTARY_BASE = 10_000.0
NORM_EPSILON = 1e-6

MATRIX_RATE = 0.03
EMBEDDING_RATE = 0.2
HEAD_RATE = 0.01
GAIN_RATE = 0.005
MOMENTUM = 0.95
WEIGHT_DECAY = 0.01
WARM_UP = 0.02  # shares of the budget
COOL_DOWN = 0.4
FINAL_RATE = 0.05
RESERVE_SECONDS = 5.0  # for the last update and the save
STARTUP_MARGIN_SECONDS = 5.0
LOG_EVERY = 10

# Coefficients of the quintic iteration that brings all singular values near one.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_ROUNDS = 5
LANES = 128  # partitions of the on-chip memory
LOGICAL_CORES = 2


# --- Kernels ---


@nki.jit
def relu_squared_kernel(x):
    """max(x, 0) ** 2 over a (rows, columns) tensor, 128 rows at a time."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(rows // LANES):
        tile = nl.ndarray((LANES, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start * LANES : (start + 1) * LANES, 0:columns])
        positive = nl.ndarray((LANES, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=positive, op=nl.relu, data=tile)
        squared = nl.ndarray((LANES, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squared, data1=positive, data2=positive, op=nl.multiply)
        nisa.dma_copy(dst=out[start * LANES : (start + 1) * LANES, 0:columns], src=squared)
    return out


@nki.jit
def relu_squared_gradient_kernel(x, gradient):
    """2 * max(x, 0) * gradient over (rows, columns) tensors."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(rows // LANES):
        tile = nl.ndarray((LANES, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start * LANES : (start + 1) * LANES, 0:columns])
        incoming = nl.ndarray((LANES, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=incoming, src=gradient[start * LANES : (start + 1) * LANES, 0:columns])
        positive = nl.ndarray((LANES, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=positive, op=nl.relu, data=tile, scale=2.0)
        product = nl.ndarray((LANES, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product, data1=positive, data2=incoming, op=nl.multiply)
        nisa.dma_copy(dst=out[start * LANES : (start + 1) * LANES, 0:columns], src=product)
    return out


class ReluSquared(torch.autograd.Function):
    """The two kernels as one differentiable operation."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return wrap_nki(relu_squared_kernel)[LOGICAL_CORES](x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return wrap_nki(relu_squared_gradient_kernel)[LOGICAL_CORES](x, gradient.contiguous())


def relu_squared(x: Tensor) -> Tensor:
    """max(x, 0) ** 2 of any shape (..., columns); the number of rows must be a multiple of 128."""
    flat = x.reshape(-1, x.shape[-1]).contiguous()
    if flat.shape[0] % LANES:
        raise ValueError(f"relu_squared: {tuple(x.shape)} {x.dtype} has {flat.shape[0]} rows, no multiple of {LANES}")
    return ReluSquared.apply(flat).view(x.shape)


# --- Model ---


def norm(x: Tensor) -> Tensor:
    """Root-mean-square normalisation over the last dimension, without a gain."""
    return F.rms_norm(x, (x.size(-1),), eps=NORM_EPSILON)


class Rotary(nn.Module):
    """Rotary positions for heads of one width; the angles are made for the length that is asked for."""

    def __init__(self, width: int) -> None:
        super().__init__()
        frequencies = ROTARY_BASE ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, length, heads, width)."""
        positions = torch.arange(x.shape[1], dtype=torch.float32, device=x.device)
        angles = torch.outer(positions, self.frequencies)
        cosine = angles.cos()[None, :, None, :].to(x.dtype)
        sine = angles.sin()[None, :, None, :].to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cosine + second * sine, second * cosine - first * sine), dim=-1)


class Attention(nn.Module):
    """Causal self-attention with normalised queries and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.inward = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.outward = nn.Linear(WIDTH, WIDTH, bias=False)
        self.rotary = Rotary(HEAD_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.inward(x).view(batch, length, 3, HEADS, HEAD_WIDTH).unbind(2)
        query, key = self.rotary(norm(query)), self.rotary(norm(key))
        mixed = F.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), is_causal=True
        )
        return self.outward(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Mlp(nn.Module):
    """Two matrices with a squared ReLU between them."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(relu_squared(self.up(x)))


class Block(nn.Module):
    """Attention and MLP, each added to what flows past."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.mlp = Mlp()
        self.gains = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.gains[0] * self.attention(norm(x))
        return x + self.gains[1] * self.mlp(norm(x))


class GPT(nn.Module):
    """Token ids (batch, length) to logits (batch, length, vocabulary)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def initialise(self) -> None:
        """Matrices by their fan-in; whatever adds to the stream starts at zero."""
        bound = math.sqrt(3.0 / WIDTH)
        nn.init.normal_(self.embedding.weight, std=0.5)
        nn.init.zeros_(self.head.weight)
        for block in self.blocks:
            nn.init.uniform_(block.attention.inward.weight, -bound, bound)
            nn.init.zeros_(block.attention.outward.weight)
            nn.init.uniform_(block.mlp.up.weight, -bound, bound)
            nn.init.zeros_(block.mlp.down.weight)

    def forward(self, tokens: Tensor) -> Tensor:
        x = norm(self.embedding(tokens))
        for block in self.blocks:
            x = block(x)
        logits = self.head(norm(x))
        return LOGIT_CAP * torch.tanh(logits / LOGIT_CAP)


def loss_of(model: GPT, tokens: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats."""
    logits = model(tokens).float()
    return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


# --- Optimizers ---


def orthogonal(update: Tensor) -> Tensor:
    """The nearest matrix with orthogonal rows or columns, by Newton and Schulz in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    x = update.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(NEWTON_SCHULZ_ROUNDS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal; each rank computes the updates of its share of the matrices, then all exchange them."""

    def __init__(self, parameters: list[nn.Parameter], rate: float, rank: int, ranks: int) -> None:
        super().__init__(parameters, {"lr": rate, "momentum": MOMENTUM})
        self.rank, self.ranks = rank, ranks

    @torch.no_grad()
    def step(self) -> None:
        """One update of every matrix."""
        for group in self.param_groups:
            parameters = group["params"]
            for start in range(0, len(parameters), self.ranks):
                part = parameters[start : start + self.ranks]
                updates = [torch.zeros_like(parameter, dtype=torch.bfloat16) for parameter in part]
                if self.rank < len(part):
                    updates[self.rank] = self._update_of(part[self.rank], group["momentum"])
                for owner, (parameter, update) in enumerate(zip(part, updates, strict=True)):
                    dist.broadcast(update, src=owner)
                    scale = max(1.0, parameter.shape[0] / parameter.shape[1]) ** 0.5
                    parameter.add_(update.to(parameter.dtype), alpha=-group["lr"] * scale)

    def _update_of(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        state["momentum"].lerp_(parameter.grad, 1.0 - momentum)
        return orthogonal(parameter.grad.lerp(state["momentum"], momentum))


def optimizers_of(model: GPT, rank: int, ranks: int) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the blocks, AdamW for everything else."""
    matrices = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 2]
    gains = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 1]
    groups = [
        {"params": [model.embedding.weight], "lr": EMBEDDING_RATE},
        {"params": [model.head.weight], "lr": HEAD_RATE, "weight_decay": WEIGHT_DECAY},
        {"params": gains, "lr": GAIN_RATE},
    ]
    adam = torch.optim.AdamW(groups, betas=(0.8, 0.95), eps=1e-10, weight_decay=0.0)
    muon = Muon(matrices, MATRIX_RATE, rank, ranks)
    for optimizer in (adam, muon):
        for group in optimizer.param_groups:
            group["first_rate"] = group["lr"]
    return [adam, muon]


def rate_at(progress: float) -> float:
    """The factor of all learning rates, from the share of the budget that is spent: up, level, and down to the end."""
    if progress < WARM_UP:
        return progress / WARM_UP
    if progress < 1.0 - COOL_DOWN:
        return 1.0
    left = max(0.0, (1.0 - progress) / COOL_DOWN)
    return left + (1.0 - left) * FINAL_RATE


# --- Training ---


class Clock:
    """The charged time of a run: what start-up exceeds its allowance by, and everything after the first updates."""

    def __init__(self) -> None:
        self.training_since: float | None = None
        self.excess = 0.0

    def update_done(self, step: int) -> None:
        """Start-up ends with the last update that is not charged."""
        if step == TRAIN_STARTUP_STEPS_EXCLUDED - 1:
            self.training_since = time.time()
            startup = self.training_since - STARTED + STARTUP_MARGIN_SECONDS
            self.excess = max(0.0, startup - TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS)

    def spent(self) -> float:
        """Seconds of the budget that are used up."""
        if self.training_since is None:
            return 0.0
        return self.excess + time.time() - self.training_since


def average_gradients(model: GPT, ranks: int) -> None:
    """The mean over all ranks, in one exchange."""
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat.div_(ranks)
    offset = 0
    for gradient in gradients:
        gradient.copy_(flat[offset : offset + gradient.numel()].view_as(gradient))
        offset += gradient.numel()


def save(model: GPT, step: int, ranks: int) -> None:
    """Write out/final.pt: to another name first, so that half a checkpoint never has that name."""
    OUTPUT.mkdir(exist_ok=True)
    state = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    shape = {"depth": DEPTH, "width": WIDTH, "heads": HEADS, "vocabulary": VOCABULARY, "context": CONTEXT}
    tokens = step * BATCH * CONTEXT * ranks
    meta = {"step": step, "total_train_tokens": tokens, "world_size": ranks, "seed": SEED}
    partial = OUTPUT / "final.pt.partial"
    torch.save({"model_state": state, "model_config": shape, "meta": meta}, partial)
    os.replace(partial, CHECKPOINT)


def load_for_eval(checkpoint_path: str, device: torch.device) -> nn.Module:
    """The whole model of a checkpoint in eval mode on one device: bfloat16 on the chip, float32 elsewhere."""
    checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True)
    model = GPT()
    model.load_state_dict(checkpoint["model_state"], strict=True)
    dtype = torch.bfloat16 if torch.device(device).type == "neuron" else torch.float32
    return model.to(device=device, dtype=dtype).eval()


def main() -> None:
    """Train until the budget is nearly spent, then save."""
    _, rank, local_rank, ranks = get_dist_info()
    device = torch.device("neuron", local_rank)
    dist.init_process_group("neuron")
    torch.manual_seed(SEED)
    print0(f"torch {torch.__version__}, torch_neuronx {torch_neuronx.__version__}, {ranks} ranks")

    model = GPT()
    model.initialise()
    model = model.to(device=device, dtype=torch.bfloat16)
    optimizers = optimizers_of(model, rank, ranks)
    tokenizer = ensure_tokenizer()
    batches = make_dataloader(tokenizer, BATCH, CONTEXT, "train", device)

    clock = Clock()
    step, longest, smooth = 0, 0.0, 0.0
    progress = 0.0
    while True:
        began = time.time()
        tokens, targets, place = next(batches)
        loss = loss_of(model, tokens, targets)
        loss.backward()
        average_gradients(model, ranks)
        factor = rate_at(progress)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["first_rate"] * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.neuron.synchronize()

        record_step_boundary(step)
        clock.update_done(step)
        took = time.time() - began
        if step >= TRAIN_STARTUP_STEPS_EXCLUDED:
            longest = max(longest, took)
        # Every rank stops after the same update: rank 0's clock counts.
        spent = torch.tensor([clock.spent(), longest], device=device)
        dist.broadcast(spent, src=0)
        used, longest = spent.tolist()
        progress = used / TRAIN_TIME_BUDGET_SECONDS
        remaining = TRAIN_TIME_BUDGET_SECONDS - used
        smooth = loss.item() if step == 0 else 0.9 * smooth + 0.1 * loss.item()
        if step % LOG_EVERY == 0:
            rate = BATCH * CONTEXT * ranks / took
            print0(
                f"step {step:05d} | loss {smooth:.4f} | lrm {factor:.3f} | dt {took:.2f}s | tok/s {rate:,.0f} | "
                f"remaining_time {remaining:.0f}s | epoch {place['epoch']}"
            )
        step += 1
        if remaining < longest + RESERVE_SECONDS:
            break

    if rank == 0:
        save(model, step, ranks)
    dist.barrier()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print0("---")
    print0(f"checkpoint_path: {CHECKPOINT}")
    print0(f"charged_seconds_est: {clock.spent():.1f}")
    print0(f"num_steps: {step}")
    print0(f"world_size: {ranks}")
    print0(f"num_params_M: {parameters / 1e6:.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
