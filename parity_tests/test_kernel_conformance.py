"""Every NKI kernel against its torch reference: shapes, dtypes, one and two cores, forward and backward.

The reference is computed in fp64 from the same inputs. A kernel computes in fp32 and rounds its result once, so it may
be wrong by half a unit of the result's dtype, and by some rounding steps of fp32 relative to the largest value that
enters its sums.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from parity_tests.kernel_checks import assert_close, check_slope, cores, dtypes, gradients, neuron, random
from recipe.kernels.relu_squared import NkiReLUSquared, relu_squared_reference
from recipe.kernels.rms_norm import NkiRMSNorm, RMSNormFunction, rms_norm_reference
from recipe.kernels.rotary_qk_norm import NkiRotaryQKNorm, rotary_norm_reference, rotary_tables
from recipe.kernels.softcap_cross_entropy import NkiSoftcapCrossEntropy, softcap_cross_entropy_reference

EPS = 1e-6
CAP = 15.0


def rounds_away(found: Tensor, expected: Tensor) -> bool:
    """The control: values off by two units of their dtype must not pass."""
    wrong = found.detach().cpu().double() * (1 + 2 * torch.finfo(found.dtype).eps) + expected.abs().max() * 3e-5
    with pytest.raises(AssertionError, match="beyond the tolerance"):
        assert_close(wrong.to(found.dtype), expected, "control")
    return True


@cores
@dtypes
@pytest.mark.parametrize(
    "shape", [(1, 8), (2, 3, 64), (127, 32), (129, 64), (1025, 64), (300, 600), (257, 1), (130, 4096)]
)
def test_rms_norm(shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    x, dy = random(*shape, dtype=dtype, scale=3.0), random(*shape, dtype=dtype, seed=1)
    weight = 1.0 + 0.1 * random(shape[-1], dtype=torch.float32, seed=2)
    module = NkiRMSNorm(shape[-1], EPS, lnc).to("neuron")
    with torch.no_grad():
        module.weight.copy_(weight)

    def reference(x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm_reference64(x, weight)

    y = module(x.to("neuron"))
    assert y.dtype == dtype
    expected = reference(x.double(), weight.double())
    assert_close(y, expected, "y")
    assert rounds_away(y, expected)
    (x_neuron,) = neuron(x)
    x_neuron.requires_grad_()
    module(x_neuron).backward(dy.to("neuron"))
    dx, dweight = gradients(reference, [x.double(), weight.double()], [dy.double()])
    assert x_neuron.grad is not None
    assert module.weight.grad is not None
    through, norms = (dy.double() * weight).abs(), torch.rsqrt(x.double().square().mean(-1, keepdim=True) + EPS)
    sums = norms * (through + x.double().abs() * norms**2 * (through * x.double().abs()).mean(-1, keepdim=True))
    assert_close(x_neuron.grad, dx, "dx", sums.amax(-1, keepdim=True))
    assert_close(module.weight.grad, dweight, "dweight")


def rms_norm_reference64(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight


@dtypes
def test_torch_rms_norm_is_the_definition(dtype: torch.dtype) -> None:
    x, weight = random(5, 7, 64, dtype=dtype), random(64, dtype=torch.float32, seed=1)
    assert_close(rms_norm_reference(x, weight, EPS), rms_norm_reference64(x.double(), weight.double()), "y")


@cores
@dtypes
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 48), (128, 256), (1027, 256), (130, 8192)])
def test_relu_squared(shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    x, dy = random(*shape, dtype=dtype, scale=2.0), random(*shape, dtype=dtype, seed=1)
    x.view(-1)[0] = 0.0
    x_neuron, dy_neuron = neuron(x, dy)
    module = NkiReLUSquared(lnc)
    expected = x.double().relu().square()
    y = module(x_neuron)
    assert y.dtype == dtype
    assert_close(y, expected, "y")
    assert_close(relu_squared_reference(x), expected, "torch y")
    x_neuron.requires_grad_()
    module(x_neuron).backward(dy_neuron)
    assert x_neuron.grad is not None
    assert_close(x_neuron.grad, 2 * x.double().relu() * dy.double(), "dx")


@cores
@dtypes
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1, 1, 2),
        (1, 7, 2, 32),
        (3, 16, 4, 8),
        (2, 128, 2, 32),
        (1, 129, 1, 64),
        (3, 200, 2, 16),
        (9, 128, 4, 32),
        (1, 130, 16, 128),
    ],
)
def test_rotary_qk_norm(shape: tuple[int, int, int, int], dtype: torch.dtype, lnc: int) -> None:
    cos, sin = rotary_tables(shape[1], shape[3], 10000.0, torch.device("cpu"))
    q, k, dq_out, dk_out = (random(*shape, dtype=dtype, scale=2.0, seed=seed) for seed in range(4))

    def reference(q: Tensor, k: Tensor) -> tuple[Tensor, ...]:
        return tuple(rotary_norm_reference64(x, cos.double(), sin.double()) for x in (q, k))

    module = NkiRotaryQKNorm(EPS, lnc)
    leaves = [x.requires_grad_() for x in neuron(q, k)]
    found = module(*leaves, *neuron(cos, sin))
    for y, expected, name in zip(found, reference(q.double(), k.double()), "qk", strict=True):
        assert y.dtype == dtype
        assert_close(y, expected, name)
        assert rounds_away(y, expected)
    torch.autograd.backward(list(found), neuron(dq_out, dk_out))
    expected_gradients = gradients(reference, [q.double(), k.double()], [dq_out.double(), dk_out.double()])
    for leaf, expected, name in zip(leaves, expected_gradients, ("dq", "dk"), strict=True):
        assert leaf.grad is not None
        assert_close(leaf.grad, expected, name)


def rotary_norm_reference64(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotation pair by pair, as complex numbers, then the norm: another way than the recipe's reference."""
    half = x.size(-1) // 2
    pairs = torch.complex(x[..., :half], x[..., half:])
    turn = torch.complex(cos[:, :half], -sin[:, :half])
    turned = pairs * turn[:, None, :]
    rotated = torch.cat([turned.real, turned.imag], dim=-1)
    return rotated * torch.rsqrt(rotated.square().mean(-1, keepdim=True) + EPS)


def test_torch_rotary_norm_is_the_definition() -> None:
    x = random(2, 9, 3, 16, dtype=torch.float32)
    cos, sin = rotary_tables(9, 16, 10000.0, torch.device("cpu"))
    assert_close(
        rotary_norm_reference(x, cos, sin, EPS), rotary_norm_reference64(x.double(), cos.double(), sin.double()), "y"
    )


def test_rotary_attention_depends_on_distance_only() -> None:
    """q at t + s against k at t gives the same product for every t: what the embedding is for."""
    cos, sin = rotary_tables(40, 16, 10000.0, torch.device("cpu"))
    q, k = random(1, 1, 1, 16, dtype=torch.float32), random(1, 1, 1, 16, dtype=torch.float32, seed=1)
    q, k = (rotary_norm_reference(x.expand(1, 40, 1, 16), cos, sin, EPS)[0, :, 0] for x in (q, k))
    products = [float(q[t + 3] @ k[t]) for t in range(30)]
    assert max(products) - min(products) < 1e-4
    assert abs(float(q[5] @ k[0]) - products[0]) > 1e-2


@cores
@dtypes
@pytest.mark.parametrize("shape", [(1, 2), (2, 3, 50), (128, 64), (131, 100), (5, 2048), (4, 2049), (3, 4100)])
def test_softcap_cross_entropy(shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    check_cross_entropy(shape, dtype, lnc, CAP)


@cores
@dtypes
@pytest.mark.parametrize("shape", [(1, 2), (129, 50), (2, 3, 2049), (3, 4100)])
def test_cross_entropy_without_a_cap(shape: tuple[int, ...], dtype: torch.dtype, lnc: int) -> None:
    check_cross_entropy(shape, dtype, lnc, 0.0)


def check_cross_entropy(shape: tuple[int, ...], dtype: torch.dtype, lnc: int, cap: float) -> None:
    logits = random(*shape, dtype=dtype, scale=8.0)
    generator = torch.Generator().manual_seed(5)
    targets = torch.randint(0, shape[-1], shape[:-1], generator=generator)
    targets.view(-1)[0] = shape[-1] - 1

    def each(logits: Tensor) -> Tensor:
        capped = cap * torch.tanh(logits / cap) if cap else logits
        return capped.logsumexp(-1) - capped.gather(-1, targets[..., None])[..., 0]

    def reference(logits: Tensor) -> Tensor:
        return each(logits).mean()

    module = NkiSoftcapCrossEntropy(cap, lnc)
    (leaf,) = neuron(logits)
    leaf.requires_grad_()
    loss, losses = module(leaf, targets.to("neuron"))
    assert loss.dtype == torch.float32
    assert_close(loss, reference(logits.double()), "loss")
    assert_close(losses, each(logits.double()), "losses")
    assert not losses.requires_grad
    assert_close(softcap_cross_entropy_reference(logits, targets, cap), reference(logits.double()), "torch loss")
    loss.backward()
    (expected,) = gradients(reference, [logits.double()], [torch.tensor(1.0, dtype=torch.float64)])
    assert leaf.grad is not None
    assert leaf.grad.dtype == dtype
    assert_close(leaf.grad, expected, "dlogits")


def test_softcap_cross_entropy_of_extreme_logits_is_finite() -> None:
    """Logits far beyond the cap: the loss stays between 0 and about two caps, for both a right and a wrong target."""
    logits = torch.full((2, 16), -1e4)
    logits[:, 3] = 1e4
    losses = [
        NkiSoftcapCrossEntropy(CAP, 1)(logits.to("neuron"), torch.tensor([target, target]).to("neuron"))[0].item()
        for target in (3, 4)
    ]
    assert losses[0] == pytest.approx(0.0, abs=1e-5)
    assert losses[1] == pytest.approx(2 * CAP, abs=1e-4)


def test_cross_entropy_without_a_cap_does_not_see_a_constant_in_all_logits() -> None:
    """Neither a small one nor one beyond the range of exp; another target does make a difference."""
    logits, target = random(2, 3000, dtype=torch.float32), torch.tensor([7, 2999])
    loss, moved, other = (
        NkiSoftcapCrossEntropy(0.0, 1)(*neuron(x, t))[0].item()
        for x, t in ((logits, target), (logits + 512.0, target), (logits, target - 1))
    )
    assert moved == pytest.approx(loss, abs=2e-4)
    assert other != pytest.approx(loss, abs=2e-2)


def slopes(name: str) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """An operation with a backward kernel, by its name, and what it is differentiated by."""
    x, other = (random(5, 24, dtype=torch.float32, seed=seed) for seed in (3, 4))
    if name == "rms_norm":
        given = [x, 1 + 0.1 * other[0]]
        return lambda x, weight: RMSNormFunction.apply(x, weight, EPS, 2), given  # type: ignore[no-untyped-call]
    if name == "relu_squared":
        return NkiReLUSquared(2), [x]
    if name == "rotary_qk_norm":
        tables = neuron(*rotary_tables(5, 12, 10000.0, torch.device("cpu")))
        module = NkiRotaryQKNorm(EPS, 2)
        return lambda q, k: torch.stack(list(module(q, k, *tables))), [x.view(1, 5, 2, 12), other.view(1, 5, 2, 12)]
    targets = torch.tensor([3, 0, 23, 7, 7]).to("neuron")
    return lambda logits: NkiSoftcapCrossEntropy(CAP, 2)(logits, targets)[0], [4 * x]


@pytest.mark.parametrize("name", ["rms_norm", "relu_squared", "rotary_qk_norm", "softcap_cross_entropy"])
def test_gradients_are_the_slope(name: str) -> None:
    function, inputs = slopes(name)
    check_slope(function, inputs, step=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NkiReLUSquared(1)(torch.zeros(1, 8193, device="neuron")), "C = 8193"),
        (
            lambda: NkiSoftcapCrossEntropy(30.0, 1)(
                torch.zeros(1, 4, device="neuron"), torch.zeros(1, device="neuron").long()
            ),
            "cap = 30",
        ),
        (lambda: NkiReLUSquared(1)(torch.zeros(1, 4)), "relu_squared_forward"),
    ],
    ids=["too wide", "cap out of range", "not on the device"],
)
def test_what_a_kernel_cannot_do_is_an_error(call: Callable[[], Tensor], message: str) -> None:
    """No silent fallback: the error names the operation or the value at fault."""
    with pytest.raises((AssertionError, TypeError, ValueError), match=message):
        call()
