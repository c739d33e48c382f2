"""A training run on the device: the CPU's bits in fp32, also while operators or ``Tensor.backward`` are watched."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch_neuronx  # noqa: F401  (registers the device)
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

VOCABULARY, WIDTH, HEADS, LENGTH = 64, 32, 2, 16


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        split = self.qkv(F.rms_norm(x, (WIDTH,))).view(*x.shape[:2], 3, HEADS, WIDTH // HEADS)
        q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.down(F.relu(self.up(F.rms_norm(x, (WIDTH,)))).square())


class Model(nn.Module):
    def __init__(self, remember: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.remember = remember

    def forward(self, tokens: Tensor) -> Tensor:
        x = F.dropout(self.embed(tokens), 0.1)
        for block in self.blocks:
            x = block(x) if self.remember else checkpoint(block, x, use_reentrant=False)
        logits = self.head(x).float()
        return 15 * torch.tanh(logits / 15)


def train(
    device: str,
    make: Callable[[Any], torch.optim.Optimizer],
    dtype: torch.dtype = torch.float32,
    remember: bool = True,
    rate: float = 1.0,
) -> tuple[list[float], list[Tensor]]:
    """Losses of five updates and the weights after them, on the CPU."""
    torch.manual_seed(3)
    model = Model(remember).to(dtype).to(device)
    optimizer = make(model.parameters())
    torch.manual_seed(4)  # the model was made on the CPU, which advanced that stream only
    tokens = torch.randint(0, VOCABULARY, (5, 4, LENGTH + 1), generator=torch.Generator().manual_seed(1)).to(device)
    losses = []
    for batch in tokens:
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()) * rate
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, [parameter.detach().cpu() for parameter in model.parameters()]


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=False),
    "AdamW over lists": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True),
    "fused AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, foreach=False),
    "Muon": lambda p: torch.optim.Muon([w for w in p if w.dim() == 2], lr=1e-2),
}


def same(left: tuple[list[float], list[Tensor]], right: tuple[list[float], list[Tensor]]) -> bool:
    return left[0] == right[0] and all(torch.equal(a, b) for a, b in zip(left[1], right[1], strict=True))


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "Muon"])
def test_fp32_training_gives_the_cpus_bits(name: str) -> None:
    here = train("cpu", OPTIMIZERS[name])
    assert same(train("neuron", OPTIMIZERS[name]), here)
    assert not same(train("neuron", OPTIMIZERS[name], rate=1.0625), here)


def test_optimizers_work_over_lists_by_default_as_on_other_devices() -> None:
    there = train("neuron", lambda p: torch.optim.AdamW(p, lr=1e-2))
    assert same(there, train("neuron", OPTIMIZERS["AdamW over lists"]))


def test_low_training_repeats_and_learns() -> None:
    first = train("neuron", OPTIMIZERS["Muon"], torch.bfloat16)
    assert same(first, train("neuron", OPTIMIZERS["Muon"], torch.bfloat16))
    wide = train("neuron", OPTIMIZERS["Muon"])
    assert first[0] != wide[0]
    assert first[0] == pytest.approx(wide[0], abs=0.05)


def test_recomputed_activations_change_nothing() -> None:
    assert same(train("neuron", OPTIMIZERS["AdamW"], remember=False), train("neuron", OPTIMIZERS["AdamW"]))


class Counting(TorchDispatchMode):
    """Counts operators by the device of their first tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: collections.Counter[tuple[str, str]] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [value for value in args if isinstance(value, Tensor)]
        self.seen[tensors[0].device.type if tensors else "none", str(func)] += 1
        return func(*args, **(kwargs or {}))


def test_an_observer_counts_operators_forward_and_backward_and_changes_nothing() -> None:
    plain = train("neuron", OPTIMIZERS["AdamW"])
    with Counting() as there:
        assert same(train("neuron", OPTIMIZERS["AdamW"]), plain)
    with Counting() as here:
        train("cpu", OPTIMIZERS["AdamW"])
    for operator in (
        "aten.mm.default",
        "aten._scaled_dot_product_flash_attention_for_cpu.default",
        "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
        "aten.embedding_dense_backward.default",
        "aten.addcdiv_.default",
    ):
        assert there.seen["neuron", operator] == here.seen["cpu", operator] > 0
        assert there.seen["cpu", operator] == 0


def test_one_update_may_be_observed_alone() -> None:
    def losses(observed: bool) -> list[float]:
        torch.manual_seed(0)
        layer = nn.Linear(4, 4).to("neuron")
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        found = []
        for update in range(3):
            mode = Counting()
            if observed and update == 1:
                mode.__enter__()
            loss = layer(torch.ones(2, 4, device="neuron") + update).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if observed and update == 1:
                mode.__exit__(None, None, None)
                assert mode.seen["neuron", "aten.addmm.default"] == 1
            found.append(loss.item())
        return found

    assert losses(True) == losses(False)


def test_a_patched_backward_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    losses: list[float] = []
    original = Tensor.backward

    def backward(self: Tensor, *args: Any, **kwargs: Any) -> None:
        losses.append(self.item())
        original(self, *args, **kwargs)

    monkeypatch.setattr(Tensor, "backward", backward)
    trained, _ = train("neuron", OPTIMIZERS["AdamW"])
    assert losses == trained


def test_hooks_see_tensors_of_the_device() -> None:
    layer = nn.Linear(3, 2).to("neuron")
    seen: list[str] = []
    layer.register_forward_hook(lambda module, inputs, output: seen.append(output.device.type))
    layer.weight.register_hook(lambda grad: seen.append(grad.device.type))
    layer.bias.register_post_accumulate_grad_hook(lambda parameter: seen.append(parameter.grad.device.type))
    layer(torch.ones(1, 3, device="neuron")).sum().backward()
    assert seen == ["neuron"] * 3


def test_an_autograd_function_of_the_program_runs() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            assert x.device.type == "neuron"
            return 2 * x * grads[0]

    x = torch.arange(3.0, device="neuron").requires_grad_()
    Square.apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 2.0, 4.0]


def test_inference_mode_results_are_the_same() -> None:
    model = Model().to("neuron").eval()
    twin = copy.deepcopy(model)
    tokens = torch.arange(LENGTH, device="neuron")[None]
    torch.manual_seed(0)
    expected = model(tokens)
    torch.manual_seed(0)
    with torch.inference_mode():
        assert torch.equal(twin(tokens).cpu(), expected.detach().cpu())
    with torch.no_grad():
        twin.head.weight.add_(1)
    assert not torch.equal(twin(tokens).cpu(), expected.cpu())
