"""Cross entropy of softcapped logits: z = cap * tanh(logits / cap), loss = logsumexp(z) - z[target] for every row.
Without a cap (cap = 0) z is the logits themselves.

Logits are [..., V] in any floating dtype, targets [...] whole numbers in 0 .. V - 1 (no value is ignored), losses and
their mean fp32.

Because |z| <= cap, the cap itself serves as the logsumexp's maximum: exp(z - cap) is at most 1 and, for cap <= 20, at
least 4e-18, so that no maximum is needed and the sum's logarithm lies within the range of the activation table (2^-64
to 2^64). Without a cap each chunk has its own maximum, and the chunks' sums are brought to the largest at the end.

What the kernels need: 0 <= cap <= 20; V < 2^24 (targets are compared in fp32); logits contiguous. Any number of rows,
LNC 1 and 2. The vocabulary goes through SBUF in chunks of 2048 columns, five fp32 tiles wide.
"""

from __future__ import annotations

from typing import Any

import nki
import nki.isa as nisa
import nki.language as nl
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_neuronx import wrap_nki

from recipe.kernels.tiling import row_tiles

CHUNK = 2048
MAX_CAP = 20.0


class NkiSoftcapCrossEntropy(nn.Module):
    """Softcap cross entropy by the NKI kernels below."""

    def __init__(self, cap: float, lnc: int) -> None:
        super().__init__()
        self.cap = cap
        self.lnc = lnc

    def forward(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [..., V] before the cap, targets [...] -> mean loss, and losses [...] without a gradient, in fp32."""
        losses: Tensor = SoftcapCrossEntropyFunction.apply(logits, targets, self.cap, self.lnc)  # type: ignore[no-untyped-call]
        return losses.mean(), losses.detach().view(targets.shape)


class TorchSoftcapCrossEntropy(nn.Module):
    """Softcap cross entropy by torch operators."""

    def __init__(self, cap: float) -> None:
        super().__init__()
        self.cap = cap

    def forward(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [..., V] before the cap, targets [...] -> mean loss, and losses [...] without a gradient, in fp32."""
        rows, labels = logits.flatten(0, -2), targets.flatten().long()
        losses: Tensor = SoftcapCrossEntropyByTorch.apply(rows, labels, self.cap)  # type: ignore[no-untyped-call]
        return losses.mean(), losses.detach().view(targets.shape)


class SoftcapCrossEntropyByTorch(torch.autograd.Function):
    """The definition with its gradient written out: fewer passes over the logits than autograd makes of it."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, cap: float) -> Tensor:
        """Logits [N, V], targets [N] whole numbers -> losses [N]; keep their gradient."""
        losses, slope = losses_and_slope(logits.to(torch.float32, copy=True), targets, cap)
        ctx.save_for_backward(slope)
        ctx.dtype = logits.dtype
        return losses

    @staticmethod
    def backward(ctx: Any, dlosses: Tensor) -> tuple[Tensor, None, None]:
        """The gradient times what each loss counts for."""
        (slope,) = ctx.saved_tensors
        return (slope * dlosses.unsqueeze(1)).to(ctx.dtype), None, None


def losses_and_slope(logits: Tensor, targets: Tensor, cap: float) -> tuple[Tensor, Tensor]:
    """Logits [N, V] in fp32, which are overwritten, and targets [N] -> the rows' losses [N], and by how much these,
    added up, change with the logits [N, V].

    The cap is written as 2 cap sigmoid(2 logits / cap) - cap, of which the constant makes no difference to any softmax:
    on a CPU a sigmoid takes half the time of a tanh. There is one exponential for each element, and no logarithm.
    """
    capped = 2.0 * cap * logits.mul_(2.0 / cap).sigmoid_() if cap > 0.0 else logits
    capped.sub_(capped.amax(1, keepdim=True))
    places = targets[:, None]
    chosen = capped.gather(1, places)
    slope = capped.exp_()
    total = slope.sum(1, keepdim=True)
    scale = 4.0 if cap > 0.0 else 1.0  # the derivative of the cap is 4 sigmoid (1 - sigmoid)
    slope.mul_(scale / total).scatter_add_(1, places, torch.full_like(chosen, -scale))
    if cap > 0.0:
        slope.mul_(logits.addcmul_(logits, logits, value=-1.0))
    return (total.log() - chosen).squeeze(1), slope


def softcap(logits: Tensor, cap: float) -> Tensor:
    """cap * tanh(logits / cap), in fp32; a cap of 0 is none."""
    if cap == 0.0:
        return logits.float()
    return cap * torch.tanh(logits.float() / cap)


def softcap_cross_entropy_reference(logits: Tensor, targets: Tensor, cap: float) -> Tensor:
    """The definition, in fp32."""
    return F.cross_entropy(softcap(logits, cap).flatten(0, -2), targets.flatten().long())


class SoftcapCrossEntropyFunction(torch.autograd.Function):
    """Autograd over the two kernels; the result is the loss of every row."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, cap: float, lnc: int) -> Tensor:
        """Run the forward kernel; keep the rows' logsumexp for the backward one."""
        rows = logits.reshape(-1, logits.size(-1)).contiguous()
        labels = targets.reshape(-1, 1).to(torch.int32)
        losses, lse = wrap_nki(softcap_cross_entropy_forward)[lnc](logits=rows, targets=labels, cap=cap)
        ctx.save_for_backward(rows, labels, lse)
        ctx.cap, ctx.lnc, ctx.shape = cap, lnc, logits.shape
        out: Tensor = losses
        return out

    @staticmethod
    def backward(ctx: Any, dlosses: Tensor) -> tuple[Tensor, None, None, None]:
        """Gradient of the logits."""
        rows, labels, lse = ctx.saved_tensors
        dlogits = wrap_nki(softcap_cross_entropy_backward)[ctx.lnc](
            dlosses=dlosses.contiguous(), logits=rows, targets=labels, lse=lse, cap=ctx.cap
        )
        return dlogits.view(ctx.shape), None, None, None


@nki.jit
def softcap_cross_entropy_forward(logits: Any, targets: Any, cap: float) -> Any:
    """Logits [N, V], targets [N, 1] int32 -> losses [N, 1] fp32, lse [N, 1] fp32."""
    rows, vocabulary = logits.shape
    check_cap("softcap_cross_entropy_forward", cap)
    losses = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    lse = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    columns = numbered_columns(min(CHUNK, vocabulary))
    for first, count, _ in row_tiles(rows, CHUNK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        label = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=label, src=targets[first:last, 0:1])
        sums = new_sums(count, (vocabulary + CHUNK - 1) // CHUNK)
        for start in range(0, vocabulary, CHUNK):
            end = min(start + CHUNK, vocabulary)
            raw = nl.ndarray(shape=(count, end - start), dtype=logits.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=raw, src=logits[first:last, start:end])
            chunk_sums(raw, label, columns, start, cap, [column[0:count, start // CHUNK] for column in sums])
        loss, lse_tile = row_losses(sums, cap)
        nisa.dma_copy(dst=losses[first:last, 0:1], src=loss)
        nisa.dma_copy(dst=lse[first:last, 0:1], src=lse_tile)
    return losses, lse


@nki.jit
def softcap_cross_entropy_backward(dlosses: Any, logits: Any, targets: Any, lse: Any, cap: float) -> Any:
    """Gradient of the losses [N, 1] fp32, and what forward took and returned -> gradient of the logits [N, V], like the
    logits.

    With t = tanh(logits / cap) and p = exp(cap * t - lse): dlogits = dlosses * (p - onehot(target)) * (1 - t^2),
    computed as (onehot - p) * (t^2 - 1). Without a cap p = exp(logits - lse), and the last factor is 1.
    """
    rows, vocabulary = logits.shape
    check_cap("softcap_cross_entropy_backward", cap)
    dlogits = nl.ndarray(shape=(rows, vocabulary), dtype=logits.dtype, buffer=nl.shared_hbm)

    columns = numbered_columns(min(CHUNK, vocabulary))
    for first, count, _ in row_tiles(rows, CHUNK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        label = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
        slope = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        lse_tile = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        minus_lse = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=label, src=targets[first:last, 0:1])
        nisa.dma_copy(dst=slope, src=dlosses[first:last, 0:1])
        nisa.dma_copy(dst=lse_tile, src=lse[first:last, 0:1])
        nisa.tensor_scalar(dst=minus_lse, data=lse_tile, op0=nl.multiply, operand0=-1.0)
        for start in range(0, vocabulary, CHUNK):
            end = min(start + CHUNK, vocabulary)
            raw = nl.ndarray(shape=(count, end - start), dtype=logits.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=raw, src=logits[first:last, start:end])
            out = nl.ndarray(shape=(count, end - start), dtype=logits.dtype, buffer=nl.sbuf)
            logit_gradient(out, raw, (label, slope, minus_lse), columns, start, cap)
            nisa.dma_copy(dst=dlogits[first:last, start:end], src=out)
    return dlogits


def check_cap(kernel: str, cap: float) -> None:
    """Refuse a cap that the kernels cannot do."""
    assert 0.0 <= cap <= MAX_CAP, f"{kernel}: cap = {cap}, must be at least 0 (none) and at most {MAX_CAP}"


def numbered_columns(width: int) -> Any:
    """A tile [128, width] whose columns hold their numbers, in fp32."""
    columns = nl.ndarray(shape=(nl.tile_size.pmax, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=columns, pattern=[[1, width]], offset=0, channel_multiplier=0)
    return columns


def new_sums(count: int, chunks: int) -> list[Any]:
    """What `chunk_sums` fills, a column for each chunk: maxima (only without a cap), sums, and values at the target."""
    return [nl.ndarray(shape=(count, chunks), dtype=nl.float32, buffer=nl.sbuf) for _ in range(3)]


def chunk_sums(raw: Any, label: Any, columns: Any, start: int, cap: float, sums: list[Any]) -> None:
    """Write what one chunk of logits, in SBUF or PSUM, from column `start` on, adds to the loss of its rows.

    Without a cap the largest value, then the sum of exp(z - that); with one only the sum of exp(z - cap). Then z, or
    z / cap, at the target if that is here, else 0.
    """
    count, width = raw.shape
    top, total, hit = sums
    work = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
    here = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)  # target - start
    if cap > 0.0:
        bias, scale = -cap, cap
        values = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=values, op=nl.tanh, data=raw, scale=1.0 / cap)
    else:
        bias, scale = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf), 1.0
        values = raw
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=raw, axis=1, keepdims=True)
        nisa.tensor_scalar(dst=bias, data=top, op0=nl.multiply, operand0=-1.0)
    nisa.activation(
        dst=work,
        op=nl.exp,
        data=values,
        scale=scale,
        bias=bias,
        reduce_op=nl.add,
        reduce_res=total,
        reduce_cmd=nisa.reduce_cmd.reset_reduce,
    )
    nisa.tensor_scalar(dst=here, data=label, op0=nl.subtract, operand0=float(start))
    nisa.scalar_tensor_tensor(
        dst=work, data=columns[0:count, 0:width], op0=nl.equal, operand0=here, op1=nl.multiply, operand1=values
    )
    nisa.tensor_reduce(dst=hit, op=nl.add, data=work, axis=1, keepdims=True)


def row_losses(sums: list[Any], cap: float) -> tuple[Any, Any]:
    """Loss and logsumexp (count, 1) of the rows that gave these sums."""
    tops, totals, hits = sums
    count, chunks = totals.shape
    total = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    hit = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    logarithm = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    lse = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    loss = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
    top: Any = cap
    if cap == 0.0:
        top = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        minus_top = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        factors = nl.ndarray(shape=(count, chunks), dtype=nl.float32, buffer=nl.sbuf)
        lowered = nl.ndarray(shape=(count, chunks), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=tops, axis=1, keepdims=True)
        nisa.tensor_scalar(dst=minus_top, data=top, op0=nl.multiply, operand0=-1.0)
        nisa.activation(dst=factors, op=nl.exp, data=tops, bias=minus_top)
        nisa.tensor_tensor(dst=lowered, data1=totals, data2=factors, op=nl.multiply)
        totals = lowered
    nisa.tensor_reduce(dst=total, op=nl.add, data=totals, axis=1, keepdims=True)
    nisa.tensor_reduce(dst=hit, op=nl.add, data=hits, axis=1, keepdims=True)
    nisa.activation(dst=logarithm, op=nl.log, data=total)
    nisa.tensor_scalar(dst=lse, data=logarithm, op0=nl.add, operand0=top)
    nisa.scalar_tensor_tensor(dst=loss, data=hit, op0=nl.multiply, operand0=-(cap or 1.0), op1=nl.add, operand1=lse)
    return loss, lse


def logit_gradient(dst: Any, raw: Any, row: tuple[Any, Any, Any], columns: Any, start: int, cap: float) -> None:
    """Write the gradient of one chunk of logits, in SBUF or PSUM, from column `start` on.

    `row`: of every row the target, the gradient of its loss, and minus its logsumexp, each (count, 1).
    """
    label, slope, minus_lse = row
    count, width = raw.shape
    probability = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
    error = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
    here = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)  # target - start
    nisa.tensor_scalar(dst=here, data=label, op0=nl.subtract, operand0=float(start))
    if cap == 0.0:
        nisa.activation(dst=probability, op=nl.exp, data=raw, bias=minus_lse)
    else:
        capped = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=capped, op=nl.tanh, data=raw, scale=1.0 / cap)
        nisa.activation(dst=probability, op=nl.exp, data=capped, scale=cap, bias=minus_lse)
    nisa.scalar_tensor_tensor(
        dst=error, data=columns[0:count, 0:width], op0=nl.equal, operand0=here, op1=nl.subtract, operand1=probability
    )
    if cap == 0.0:
        nisa.tensor_scalar(dst=dst, data=error, op0=nl.multiply, operand0=slope, op1=nl.multiply, operand1=-1.0)
        return
    square = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
    product = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=square, op=nl.square, data=capped)  # the Vector engine has more to do
    nisa.scalar_tensor_tensor(dst=product, data=square, op0=nl.subtract, operand0=1.0, op1=nl.multiply, operand1=error)
    nisa.tensor_scalar(dst=dst, data=product, op0=nl.multiply, operand0=slope)
