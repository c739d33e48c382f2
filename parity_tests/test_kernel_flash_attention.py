"""Attention on NKI: what it computes in tiles, and which keys a query may see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, noise_of, random
from recipe.kernels.flash_attention import NkiAttention, attention_reference


def weights_of(q: Tensor, k: Tensor, window: int) -> Tensor:
    """The softmax, with its mask made from distances."""
    positions = torch.arange(q.size(2))
    distance = positions[:, None] - positions[None, :]
    seen = (distance >= 0) & (distance < (window or q.size(2)))
    scores = (q @ k.mT) / q.size(-1) ** 0.5
    return torch.where(seen, scores, -torch.inf).softmax(-1)


@cores
@dtypes
@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ((1, 1, 1, 2), 0),
        ((1, 3, 127, 64), 0),
        ((1, 2, 129, 130), 1),
        ((1, 1, 513, 256), 0),
        ((1, 2, 540, 48), 100),
    ],
)
def test_attention(shape: tuple[int, int, int, int], window: int, dtype: torch.dtype, lnc: int) -> None:
    q, k, v, dy = (random(*shape, dtype=dtype, seed=seed) for seed in range(4))
    leaves = [x.requires_grad_() for x in neuron(q, k, v)]
    wide = [x.double() for x in (q, k, v)]

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return weights_of(q, k, window) @ v

    y = NkiAttention(window, lnc)(*leaves)
    assert y.dtype == dtype
    expected = function(*wide)
    weights = weights_of(wide[0], wide[1], window)
    assert_close(y, expected, "y", weights @ wide[2].abs(), noise_of(dtype, weights**2 @ wide[2] ** 2))
    y.backward(*neuron(dy))
    sums, noise = spread(wide, weights, expected, dy.double(), dtype)
    for leaf, wanted, total, off, name in zip(
        leaves, gradients(function, wide, [dy.double()]), sums, noise, ("dq", "dk", "dv"), strict=True
    ):
        assert leaf.grad is not None
        assert leaf.grad.dtype == dtype
        assert_close(leaf.grad, wanted, name, total, off)
        if wanted.any():  # a query that sees only itself has no say
            with pytest.raises(AssertionError, match="beyond the tolerance"):
                assert_close(leaf.grad * 1.05, wanted, name, total, off)


def spread(
    wide: list[Tensor], weights: Tensor, y: Tensor, dy: Tensor, dtype: torch.dtype
) -> tuple[list[Tensor], list[Tensor]]:
    """For dq, dk and dv: the magnitudes that are added up, and how far rounding to `dtype` on the way may move them.

    The kernel rounds the weights, the errors weights * (dy v^T - along), and y, from which along = dy y^T is made.
    """
    q, k, v = wide
    root = q.size(-1) ** -0.5
    largest = weights * (dy.abs() @ v.abs().mT + (dy.abs() * y.abs()).sum(-1, keepdim=True)) * root
    errors = weights * (dy @ v.mT - (dy * y).sum(-1, keepdim=True)) * root
    along = noise_of(dtype, (dy**2 * y**2).sum(-1, keepdim=True)) * root
    sums = [largest @ k.abs(), largest.mT @ q.abs(), weights.mT @ dy.abs()]
    noise = [
        2 * noise_of(dtype, errors**2 @ k**2) + along * (weights @ k).abs(),
        2 * noise_of(dtype, errors.mT**2 @ q**2) + ((weights * along).mT ** 2 @ q**2).sqrt(),
        noise_of(dtype, weights.mT**2 @ dy**2),
    ]
    return sums, noise


def test_torch_attention_is_the_definition() -> None:
    q, k, v = (random(2, 2, 37, 16, dtype=torch.float32, seed=seed) for seed in range(3))
    for window in (0, 5):
        expected = weights_of(q.double(), k.double(), window) @ v.double()
        assert_close(attention_reference(q, k, v, window), expected, "y")


def test_gradients_are_the_slope() -> None:
    check_slope(NkiAttention(9, 2), [random(1, 2, 20, 8, dtype=torch.float32, seed=seed) for seed in range(3)])


@pytest.mark.parametrize("window", [0, 200])
def test_a_query_sees_only_what_the_window_shows(window: int) -> None:
    """Another key and value change the queries from their own position on, for as long as the window reaches."""
    q, k, v = (random(1, 1, 640, 32, dtype=torch.bfloat16, seed=seed) for seed in range(3))
    other_k, other_v = k.clone(), v.clone()
    other_k[:, :, 140] += 2.0
    other_v[:, :, 140] -= 2.0
    run = NkiAttention(window, 1)
    before, after = run(*neuron(q, k, v)).cpu(), run(*neuron(q, other_k, other_v)).cpu()
    changed = [t for t in range(640) if not torch.equal(before[:, :, t], after[:, :, t])]
    assert changed[0] == 140
    assert changed[-1] == (339 if window else 639)
    assert len(changed) > 0.9 * (changed[-1] - 139)


def test_scores_moved_by_a_constant_change_nothing() -> None:
    """A part that all keys share adds the same to every score of a query, and the softmax does not see it."""
    q, k, v = (random(1, 1, 300, 16, dtype=torch.float32, seed=seed) for seed in range(3))
    k[..., 0] = 0.0
    moved = k.clone()
    moved[..., 0] = 200.0
    run = NkiAttention(0, 1)
    plain, shifted = run(*neuron(q, k, v)).cpu(), run(*neuron(q, moved, v)).cpu()
    assert torch.allclose(plain, shifted, atol=1e-3)
    assert not torch.allclose(plain, run(*neuron(q, k * 1.1, v)).cpu(), atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 1, 2048, 256), (1, 9, 1024, 128)], ids=str)
def test_contest_size_fits(shape: tuple[int, ...]) -> None:
    """The largest head, and as many side by side as the largest width has, in fp32: SBUF and PSUM would overflow here
    if the tiles were too large, or too many heads were taken together.
    """
    leaves = [random(*shape, dtype=torch.float32, seed=seed).to("neuron").requires_grad_() for seed in range(3)]
    NkiAttention(128, 1)(*leaves).sum().backward()
    assert all(leaf.grad is not None for leaf in leaves)


@pytest.mark.parametrize(("shape", "said"), [((1, 1, 4, 258), "D = 258"), ((1, 1, 8193, 64), "T \\* D = 524352")])
def test_what_the_kernel_cannot_do_is_an_error(shape: tuple[int, ...], said: str) -> None:
    x = torch.zeros(shape, device="neuron")
    with pytest.raises(AssertionError, match=said):
        NkiAttention(0, 1)(x, x, x)
