"""Operators on the device give the CPU's bits in fp32, and follow the device's rule for products in bf16 and fp16."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
import torch_neuronx  # noqa: F401  (registers the device)

Case = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

# Each case takes x [4, 6], w [6, 6] (fp32) and i [4, 6] (int64, 0..5).
CASES: dict[str, Case] = {
    "arithmetic": lambda x, w, i: (x + 2 * x - x / 3) ** 2 + torch.remainder(x, 0.7) + x.clamp(-0.5, 0.5),
    "number first": lambda x, w, i: 1.0 / (2.0 + x.abs()) + (3.0 - x),
    "copysign with a number": lambda x, w, i: torch.copysign(x, -1.0),
    "where with numbers": lambda x, w, i: torch.where(x > 0, x, 0.0) + torch.where(x > 0, 1.0, x),
    "unary": lambda x, w, i: torch.tanh(x) + torch.exp(x) + torch.rsqrt(x.abs() + 1) + F.silu(x) + F.gelu(x),
    "comparison": lambda x, w, i: (x > 0).float() + (x == x.max()).float() + torch.isfinite(x),
    "reduction": lambda x, w, i: x.sum(0) + x.mean(0) + x.std(0) + x.amax(0) + x.norm(dim=0) + torch.logsumexp(x, 0),
    "scan": lambda x, w, i: x.cumsum(1) + x.cumprod(0) + x.sort(1).values + x.topk(6, 1).values,
    "product": lambda x, w, i: x @ w + F.linear(x, w, w[0]) + torch.einsum("ab,cb->ac", x, w) + torch.addmm(w[0], x, w),
    "batched product": lambda x, w, i: torch.baddbmm(x.view(2, 2, 6), x.view(2, 2, 6), w.expand(2, 6, 6)),
    "vector product": lambda x, w, i: torch.mv(w, x[0]) + torch.dot(x[0], x[1]) + torch.outer(x[0], x[1]).sum(0),
    "normalisation": lambda x, w, i: F.rms_norm(x, (6,), w[0]) + F.layer_norm(x, (6,), w[0], w[1]),
    "batch normalisation": lambda x, w, i: F.batch_norm(x, None, None, w[0], w[1], training=True),
    "softmax": lambda x, w, i: F.softmax(x, -1) + F.log_softmax(x, 0),
    "cross entropy": lambda x, w, i: F.cross_entropy(x, i[:, 0], reduction="none") + F.nll_loss(x, i[:, 1]),
    "smoothed cross entropy": lambda x, w, i: F.cross_entropy(x, i[:, 0], label_smoothing=0.1, ignore_index=3),
    "embedding": lambda x, w, i: F.embedding(i, w),
    "gather and scatter": lambda x, w, i: x.gather(1, i) + torch.zeros_like(x).scatter_add(1, i, x),
    "indexing": lambda x, w, i: x[:, i[0]] + x[i[:, 0] % 4] + x.index_select(1, i[1]) + torch.take_along_dim(x, i, 1),
    "index put": lambda x, w, i: x.clone().index_put((i[:, 0] % 4,), x, accumulate=True),
    "index add": lambda x, w, i: torch.zeros_like(x).index_add(0, i[:, 0] % 4, x),
    "joining": lambda x, w, i: torch.stack(torch.cat([x, x.flip(0)], 1).chunk(2, 1)).roll(1, 2),
    "padding": lambda x, w, i: F.pad(x, (1, 2)) + F.pad(x[None], (1, 2), mode="reflect")[0],
    "convolution": lambda x, w, i: F.conv1d(x.view(1, 4, 6), w[:4, :4, None].contiguous(), w[0, :4], padding=1),
    "grouped convolution": lambda x, w, i: F.conv1d(x.view(1, 4, 6), w[:4, :3].reshape(4, 1, 3), groups=4),
    "attention": lambda x, w, i: F.scaled_dot_product_attention(*_qkv(x, w), is_causal=True),
    "masked attention": lambda x, w, i: F.scaled_dot_product_attention(
        *_qkv(x, w), attn_mask=torch.ones(6, 6, dtype=torch.bool, device=x.device).tril()
    ),
    "grouped-query attention": lambda x, w, i: F.scaled_dot_product_attention(
        _qkv(x, w)[0], w.view(1, 1, 6, 6), w.view(1, 1, 6, 6), enable_gqa=True
    ),
    "attention with a learned mask": lambda x, w, i: F.scaled_dot_product_attention(
        *_qkv(x, w), attn_mask=w
    ),
    "complex": lambda x, w, i: torch.view_as_real(
        torch.view_as_complex(x.view(4, 3, 2)) * torch.polar(w[:4, :3], x[:, :3]).conj()
    ),
    "fft": lambda x, w, i: torch.fft.irfft(torch.fft.rfft(x).conj()),
    "solve": lambda x, w, i: torch.linalg.solve(w + 6 * torch.eye(6, device=w.device), x.t()),
    "several steps in place": lambda x, w, i: x.clone().mul_(2).add_(x, alpha=0.5).addcmul_(x, x).neg_(),
    "lists": lambda x, w, i: torch.stack(torch._foreach_mul(torch._foreach_add([x, x], [x, x], alpha=2), 3.0)),
}  # fmt: skip


def _qkv(x: torch.Tensor, w: torch.Tensor) -> list[torch.Tensor]:
    return [(torch.cat([x, x * k, x + k]) @ w).view(1, 2, 6, 6) for k in (0.5, 1.5, 2.5)]


def _run(case: Case, device: str, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """The case's result and the gradients of x and w, on the CPU."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(4, 6, generator=generator).to(device, dtype).requires_grad_()
    w = torch.randn(6, 6, generator=generator).to(device, dtype).requires_grad_()
    i = torch.randint(0, 6, (4, 6), generator=generator).to(device)
    result = case(x, w, i)
    assert result.device.type == device
    if result.requires_grad:
        weights = torch.randn(result.shape, generator=generator).to(device, result.dtype)
        (result * weights).sum().backward()
    return [tensor.detach().cpu() for tensor in (result, x.grad, w.grad) if tensor is not None]


@pytest.mark.parametrize("name", CASES)
def test_fp32_results_and_gradients_are_the_cpus_bits(name: str) -> None:
    there, here = _run(CASES[name], "neuron"), _run(CASES[name], "cpu")
    assert len(there) == len(here)
    for ours, theirs in zip(there, here, strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        assert torch.equal(ours, theirs)
    control = _run(lambda x, w, i: CASES[name](x * -1.0625, w * -1.0625, i), "cpu")
    assert not torch.equal(there[0], control[0])


def _bits_of_bf16(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, count, generator=torch.Generator().manual_seed(seed)).bfloat16()


PRODUCTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: torch.bmm(a[None], b[None])[0],
    "addmm": lambda a, b: torch.addmm(a, a, b, beta=0.5, alpha=2.0),
    "addmm_": lambda a, b: a.clone().addmm_(a, b),
    "mm into out": lambda a, b: torch.mm(a, b, out=torch.empty_like(a)),
    "baddbmm": lambda a, b: torch.baddbmm(a[None], a[None], b[None])[0],
    "mv": lambda a, b: torch.mv(a, b[0]),
    "addmv": lambda a, b: torch.addmv(a[0], a, b[0]),
    "linear with bias": lambda a, b: F.linear(a, b, a[0]),
    "convolution": lambda a, b: F.conv1d(a[None], b[:, :, None], padding=1),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_low_products_are_fp32_products_rounded_once(name: str, dtype: torch.dtype) -> None:
    a, b = _bits_of_bf16(64, 1).to(dtype), _bits_of_bf16(64, 2).to(dtype)
    ours = PRODUCTS[name](a.to("neuron"), b.to("neuron"))
    exact = PRODUCTS[name](a.float(), b.float())
    assert ours.dtype == dtype
    assert torch.equal(ours.cpu(), exact.to(dtype))
    assert not torch.equal(ours.cpu().float(), exact)  # rounding took place


def test_low_attention_is_fp32_attention_rounded_once() -> None:
    q, k, v = (torch.randn(2, 3, 16, 8, generator=torch.Generator().manual_seed(s)).bfloat16() for s in range(3))
    low = [t.to("neuron").requires_grad_() for t in (q, k, v)]
    wide = [t.float().requires_grad_() for t in (q, k, v)]
    ours = F.scaled_dot_product_attention(*low, is_causal=True)
    exact = F.scaled_dot_product_attention(*wide, is_causal=True)
    assert torch.equal(ours.detach().cpu(), exact.detach().bfloat16())
    assert not torch.equal(ours.detach().cpu().float(), exact.detach())
    ours.float().sum().backward()
    exact.sum().backward()
    for one, other in zip(low, wide, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert one.grad.dtype == torch.bfloat16
        torch.testing.assert_close(one.grad.cpu().float(), other.grad, atol=0.02, rtol=0.02)


def test_gradients_of_low_products_follow_the_rule_too() -> None:
    a, b = _bits_of_bf16(32, 3), _bits_of_bf16(32, 4)
    there = a.to("neuron").requires_grad_()
    (there @ b.to("neuron")).sum().backward()
    exact = torch.ones(32, 32) @ b.float().t()
    assert there.grad is not None
    assert torch.equal(there.grad.cpu(), exact.bfloat16())


def test_out_arguments_are_resized() -> None:
    out = torch.empty(0, device="neuron")
    torch.add(torch.ones(2, 3, device="neuron"), 1, out=out)
    assert out.tolist() == [[2.0] * 3] * 2
    kept = torch.empty(2, 3, device="neuron")
    torch.mul(out, 2, out=kept)
    assert kept.tolist() == [[4.0] * 3] * 2
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(out, 1, out=torch.empty(2, 3))
