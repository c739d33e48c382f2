"""Output head fused with the cross entropy: loss and both gradients, with and without a cap, in chunks of both."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, neuron, noise_of, random
from recipe.kernels import head_cross_entropy
from recipe.kernels.head_cross_entropy import (
    HeadCrossEntropyFunction,
    NkiHeadCrossEntropy,
    head_cross_entropy_reference,
)


def targets_of(rows: int, vocabulary: int) -> Tensor:
    targets = torch.randint(0, vocabulary, (rows,), generator=torch.Generator().manual_seed(5))
    targets[0] = vocabulary - 1
    return targets


@cores
@dtypes
@pytest.mark.parametrize(
    ("rows", "width", "vocabulary", "cap"),
    [(1, 2, 3, 15.0), (127, 96, 513, 0.0), (129, 129, 640, 15.0), (260, 300, 1030, 15.0), (300, 513, 200, 0.0)],
)
def test_head_cross_entropy(rows: int, width: int, vocabulary: int, cap: float, dtype: torch.dtype, lnc: int) -> None:
    x, weight = (
        random(rows, width, dtype=dtype),
        random(vocabulary, width, dtype=torch.float32, seed=1) * 8 / width**0.5,
    )
    targets = targets_of(rows, vocabulary)
    head = weight.to("neuron").requires_grad_()
    (leaf,) = neuron(x)
    leaf.requires_grad_()
    loss, losses = NkiHeadCrossEntropy(cap, lnc)(leaf, head, targets.to("neuron"))
    assert loss.dtype == torch.float32

    wide, rounded = x.double().requires_grad_(), weight.to(dtype).double().requires_grad_()
    logits = wide @ rounded.mT
    logits.retain_grad()
    z = cap * torch.tanh(logits / cap) if cap else logits
    each = z.logsumexp(-1) - z.gather(-1, targets[:, None])[:, 0]
    expected = each.mean()
    expected.backward()
    largest = z.abs().max().detach()
    assert_close(loss, expected.detach(), "loss", largest)
    assert_close(losses, each.detach(), "losses", largest)
    assert not losses.requires_grad
    assert_close(head_cross_entropy_reference(x, weight, targets, cap), expected.detach(), "torch loss", largest)

    loss.backward()
    assert leaf.grad is not None
    assert head.grad is not None
    assert (leaf.grad.dtype, head.grad.dtype) == (dtype, torch.float32)
    assert wide.grad is not None
    assert rounded.grad is not None
    assert logits.grad is not None
    errors, a, b = logits.grad, wide.detach(), rounded.detach()
    # The kernel's logits are off by rounding in fp32, and so is each probability, relative to its own size; that of a
    # target enters its error less one.
    steps = (errors.abs() + F.one_hot(targets, vocabulary) / rows) * (1 + (a.abs() @ b.abs().mT))
    dx, dweight = wide.grad, rounded.grad
    for found, wanted, sums, squares in (
        (leaf.grad, dx, steps @ b.abs(), errors**2 @ b**2),
        (head.grad, dweight, steps.mT @ a.abs(), errors.mT**2 @ a**2),
    ):
        assert_close(found, wanted, "gradient", sums, noise_of(dtype, squares))
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            assert_close(found * 1.05, wanted, "gradient", sums, noise_of(dtype, squares))


def test_gradients_are_the_slope() -> None:
    targets = targets_of(7, 20).to("neuron")

    def losses(x: Tensor, weight: Tensor) -> Tensor:
        found: Tensor = HeadCrossEntropyFunction.apply(x, weight, targets, 10.0, 2)  # type: ignore[no-untyped-call]
        return found

    check_slope(losses, [random(7, 12, dtype=torch.float32), random(20, 12, dtype=torch.float32, seed=1)])


def test_the_loss_is_the_same_for_the_same_word_in_another_place() -> None:
    """Rows of the weight, and targets with them, in another order: nothing else changes but the order of sums."""
    x, weight, targets = (
        random(40, 24, dtype=torch.float32),
        random(700, 24, dtype=torch.float32, seed=1),
        targets_of(40, 700),
    )
    order = torch.randperm(700, generator=torch.Generator().manual_seed(2))

    def run(*given: Tensor) -> Tensor:
        loss, _ = NkiHeadCrossEntropy(15.0, 1)(*neuron(*given))
        return loss

    plain = run(x, weight, targets).item()
    other = run(x, weight[order], order.argsort()[targets]).item()
    assert other == pytest.approx(plain, rel=1e-5)
    assert run(x, weight[order], targets).item() != pytest.approx(plain, rel=1e-3)


def test_groups_of_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tile to a group: the weight's gradient is added up in HBM then, and is the same to rounding."""
    x, weight, targets = (
        random(300, 40, dtype=torch.float32),
        random(600, 40, dtype=torch.float32, seed=1),
        targets_of(300, 600),
    )

    def gradients(multiple: float) -> list[Tensor]:
        leaves = [tensor.requires_grad_() for tensor in neuron(x * multiple, weight)]
        NkiHeadCrossEntropy(15.0, 1)(*leaves, targets.to("neuron"))[0].backward()
        return [leaf.grad.cpu() for leaf in leaves if leaf.grad is not None]

    together, other = gradients(1.0), gradients(1.001)
    monkeypatch.setattr(head_cross_entropy, "GROUP_BYTES", 1)
    for found, expected, control in zip(gradients(1.0), together, other, strict=True):
        assert (found - expected).norm() < 1e-6 * expected.norm() < (control - expected).norm()


def test_contest_size_fits() -> None:
    """Width 1152 in fp32, more rows than a group has: SBUF and PSUM would overflow here if those were too large."""
    x = random(900, 1152, dtype=torch.float32).to("neuron").requires_grad_()
    weight = (random(513, 1152, dtype=torch.float32, seed=1) * 0.01).to("neuron").requires_grad_()
    NkiHeadCrossEntropy(15.0, 1)(x, weight, targets_of(900, 513).to("neuron"))[0].backward()
    assert weight.grad is not None


@pytest.mark.parametrize(("width", "cap", "said"), [(2049, 15.0, "D = 2049"), (4, 21.0, "cap = 21")])
def test_what_the_kernel_cannot_do_is_an_error(width: int, cap: float, said: str) -> None:
    x, weight, targets = neuron(torch.zeros(1, width), torch.zeros(2, width), torch.zeros(1, dtype=torch.int32))
    with pytest.raises(AssertionError, match=said):
        NkiHeadCrossEntropy(cap, 1)(x, weight, targets)
