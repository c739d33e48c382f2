"""Cross entropy of softcapped logits: z = cap * tanh(logits / cap), loss = logsumexp(z) - z[target] for every row.

Logits are [..., V] in any floating dtype, targets [...] whole numbers in 0 .. V - 1 (no value is ignored); the mean
over all rows is fp32.

Because |z| <= cap, the cap itself serves as the logsumexp's maximum: exp(z - cap) is at most 1 and, for cap <= 20, at
least 4e-18, so that no running maximum is needed and the sum's logarithm lies within the range of the activation table
(2^-64 to 2^64).

What the kernels need: 0 < cap <= 20; V < 2^24 (targets are compared in fp32); logits contiguous. Any number of rows,
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

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits [..., V] before the cap, targets [...] -> mean loss, fp32 scalar."""
        losses: Tensor = SoftcapCrossEntropyFunction.apply(logits, targets, self.cap, self.lnc)  # type: ignore[no-untyped-call]
        return losses.mean()


class TorchSoftcapCrossEntropy(nn.Module):
    """Softcap cross entropy by torch operators."""

    def __init__(self, cap: float) -> None:
        super().__init__()
        self.cap = cap

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits [..., V] before the cap, targets [...] -> mean loss, fp32 scalar."""
        return softcap_cross_entropy_reference(logits, targets, self.cap)


def softcap(logits: Tensor, cap: float) -> Tensor:
    """cap * tanh(logits / cap), in fp32."""
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
    assert 0.0 < cap <= MAX_CAP, f"softcap_cross_entropy_forward: cap = {cap}, must be above 0 and at most {MAX_CAP}"
    pmax = nl.tile_size.pmax
    chunks = (vocabulary + CHUNK - 1) // CHUNK
    widest = min(CHUNK, vocabulary)
    losses = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    lse = nl.ndarray(shape=(rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    columns = nl.ndarray(shape=(pmax, widest), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=columns, pattern=[[1, widest]], offset=0, channel_multiplier=0)
    for first, count, _ in row_tiles(rows, CHUNK, nl.program_id(axis=0), nl.num_programs(axes=0)):
        last = first + count
        label = nl.ndarray(shape=(count, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=label, src=targets[first:last, 0:1])
        sums = nl.ndarray(shape=(count, chunks), dtype=nl.float32, buffer=nl.sbuf)  # of exp(z - cap), per chunk
        hits = nl.ndarray(shape=(count, chunks), dtype=nl.float32, buffer=nl.sbuf)  # tanh at the target, or 0
        for c in range(chunks):
            start = c * CHUNK
            width = min(CHUNK, vocabulary - start)
            raw = nl.ndarray(shape=(count, width), dtype=logits.dtype, buffer=nl.sbuf)
            capped = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            work = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            here = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)  # target - start
            nisa.dma_copy(dst=raw, src=logits[first:last, start : start + width])
            nisa.activation(dst=capped, op=nl.tanh, data=raw, scale=1.0 / cap)
            nisa.activation(
                dst=work,
                op=nl.exp,
                data=capped,
                scale=cap,
                bias=-cap,
                reduce_op=nl.add,
                reduce_res=sums[0:count, c : c + 1],
                reduce_cmd=nisa.reduce_cmd.reset_reduce,
            )
            nisa.tensor_scalar(dst=here, data=label, op0=nl.subtract, operand0=float(start))
            nisa.scalar_tensor_tensor(
                dst=work,
                data=columns[0:count, 0:width],
                op0=nl.equal,
                operand0=here,
                op1=nl.multiply,
                operand1=capped,
            )
            nisa.tensor_reduce(dst=hits[0:count, c : c + 1], op=nl.add, data=work, axis=1, keepdims=True)
        total = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        hit = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=sums, axis=1, keepdims=True)
        nisa.tensor_reduce(dst=hit, op=nl.add, data=hits, axis=1, keepdims=True)
        logarithm = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        lse_tile = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        loss = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=logarithm, op=nl.log, data=total)
        nisa.tensor_scalar(dst=lse_tile, data=logarithm, op0=nl.add, operand0=cap)
        nisa.scalar_tensor_tensor(dst=loss, data=hit, op0=nl.multiply, operand0=-cap, op1=nl.add, operand1=lse_tile)
        nisa.dma_copy(dst=losses[first:last, 0:1], src=loss)
        nisa.dma_copy(dst=lse[first:last, 0:1], src=lse_tile)
    return losses, lse


@nki.jit
def softcap_cross_entropy_backward(dlosses: Any, logits: Any, targets: Any, lse: Any, cap: float) -> Any:
    """Gradient of the losses [N, 1] fp32, and what forward took and returned -> gradient of the logits [N, V], like the
    logits.

    With t = tanh(logits / cap) and p = exp(cap * t - lse): dlogits = dlosses * (p - onehot(target)) * (1 - t^2),
    computed as (onehot - p) * (t^2 - 1).
    """
    rows, vocabulary = logits.shape
    assert 0.0 < cap <= MAX_CAP, f"softcap_cross_entropy_backward: cap = {cap}, must be above 0 and at most {MAX_CAP}"
    pmax = nl.tile_size.pmax
    chunks = (vocabulary + CHUNK - 1) // CHUNK
    widest = min(CHUNK, vocabulary)
    dlogits = nl.ndarray(shape=(rows, vocabulary), dtype=logits.dtype, buffer=nl.shared_hbm)

    columns = nl.ndarray(shape=(pmax, widest), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=columns, pattern=[[1, widest]], offset=0, channel_multiplier=0)
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
        for c in range(chunks):
            start = c * CHUNK
            width = min(CHUNK, vocabulary - start)
            raw = nl.ndarray(shape=(count, width), dtype=logits.dtype, buffer=nl.sbuf)
            capped = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            probability = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            error = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            here = nl.ndarray(shape=(count, 1), dtype=nl.float32, buffer=nl.sbuf)  # target - start
            nisa.dma_copy(dst=raw, src=logits[first:last, start : start + width])
            nisa.activation(dst=capped, op=nl.tanh, data=raw, scale=1.0 / cap)
            nisa.activation(dst=probability, op=nl.exp, data=capped, scale=cap, bias=minus_lse)
            nisa.tensor_scalar(dst=here, data=label, op0=nl.subtract, operand0=float(start))
            nisa.scalar_tensor_tensor(
                dst=error,
                data=columns[0:count, 0:width],
                op0=nl.equal,
                operand0=here,
                op1=nl.subtract,
                operand1=probability,
            )
            square = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            product = nl.ndarray(shape=(count, width), dtype=nl.float32, buffer=nl.sbuf)
            out = nl.ndarray(shape=(count, width), dtype=logits.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=square, data1=capped, data2=capped, op=nl.multiply)
            nisa.scalar_tensor_tensor(
                dst=product, data=square, op0=nl.subtract, operand0=1.0, op1=nl.multiply, operand1=error
            )
            nisa.tensor_scalar(dst=out, data=product, op0=nl.multiply, operand0=slope)
            nisa.dma_copy(dst=dlogits[first:last, start : start + width], src=out)
    return dlogits
