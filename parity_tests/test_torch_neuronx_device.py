"""The device "neuron" as a program meets it: tensors say so, memory behaves like memory, mixing devices is refused."""

import copy
import importlib.util
import io
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
import torch_neuronx
from torch import nn


def test_the_package_says_that_it_is_a_stand_in() -> None:
    assert torch_neuronx.STAND_IN is True
    assert torch_neuronx.__version__.endswith("+standin")


def test_another_torch_and_another_nki_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_again() -> None:
        path = str(torch_neuronx.__file__)
        spec = importlib.util.spec_from_file_location("again", path, submodule_search_locations=[])
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))

    monkeypatch.setattr(torch, "__version__", "2.11.0+cpu")
    with pytest.raises(ImportError, match=r"torch 2\.13, and found torch 2\.11\.0\+cpu: install"):
        load_again()
    monkeypatch.undo()
    foreign = types.ModuleType("nki")
    foreign.__file__ = "/site-packages/nki/__init__.py"
    monkeypatch.setitem(sys.modules, "nki", foreign)
    with pytest.raises(ImportError, match="nki stand-in, and found /site-packages/nki"):
        load_again()


def test_factories_make_plain_tensors_of_the_device() -> None:
    for tensor in (
        torch.empty(2, 3, device="neuron"),
        torch.zeros(2, 3, device="neuron"),
        torch.full((2, 3), 7.0, device="neuron"),
        torch.arange(6, device="neuron"),
        torch.tensor([1, 2], device="neuron"),
        torch.eye(3, device="neuron"),
        torch.linspace(0, 1, 5, device="neuron"),
        torch.tril(torch.ones(3, 3, device="neuron")),
        torch.randn(2, 3, device="neuron"),
        torch.randperm(4, device="neuron"),
        torch.zeros_like(torch.ones(2, device="neuron")),
        torch.ones(2).to("neuron"),
        torch.ones(2).neuron(),
    ):
        assert type(tensor) is torch.Tensor
        assert tensor.device == torch.device("neuron", 0)
        assert tensor.is_neuron
        assert not tensor.is_cpu
    assert "device='neuron:0'" in repr(torch.zeros(2, device="neuron"))


def test_the_device_may_be_the_default() -> None:
    with torch.device("neuron"):
        linear = nn.Linear(3, 2)
        tensor = torch.arange(6.0).view(2, 3)
        torch.add(tensor, 1, out=tensor[:, :])
        assert torch.remainder(tensor, 4).tolist() == [[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
        assert tensor.view(torch.int32).device.type == linear(tensor).device.type == "neuron"
        assert torch.ones(2, device="cpu").is_cpu
    assert torch.ones(2).is_cpu


def test_values_cross_both_ways() -> None:
    source = torch.randn(3, 4)
    there = source.to("neuron")
    assert torch.equal(there.cpu(), source)
    assert there.cpu().data_ptr() != there.data_ptr()
    there[1] = 5.0
    assert not torch.equal(there.cpu(), source)  # a copy went over, not the memory itself
    assert there[1, 2].item() == 5.0
    assert there.tolist()[1] == [5.0] * 4
    target = torch.zeros(3, 4)
    target.copy_(there)
    assert torch.equal(target, there.cpu())
    there.copy_(torch.ones(3, 4))
    assert torch.equal(there.cpu(), torch.ones(3, 4))
    assert there.to("neuron") is there
    assert there.to("cpu", torch.bfloat16).dtype == torch.bfloat16


def test_views_share_memory() -> None:
    base = torch.zeros(4, 6, device="neuron")
    base[1:3, ::2].add_(1)
    base.view(24)[0] = 9
    base.t()[5].fill_(3)
    base.view(torch.int32)[3, 0] = 1
    expected = torch.zeros(4, 6)
    expected[1:3, ::2] += 1
    expected.view(24)[0] = 9
    expected.t()[5].fill_(3)
    expected.view(torch.int32)[3, 0] = 1
    assert torch.equal(base.cpu(), expected)
    assert base[1:].data_ptr() == base.data_ptr() + 6 * 4
    assert base[1:]._base is base
    first, second = base.split(2)
    first.zero_()
    assert base.cpu()[:2].sum() == 0
    assert second.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


def test_data_may_be_replaced_by_another_shape() -> None:
    parameter = nn.Parameter(torch.zeros(3, device="neuron"))
    parameter.data = torch.ones(2, 2, device="neuron")
    parameter.data.mul_(3)
    assert parameter.shape == (2, 2)
    assert parameter.cpu().tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert (parameter * 2).sum().item() == 24


def test_storage_lives_while_any_tensor_uses_it() -> None:
    view = torch.arange(10.0, device="neuron").view(2, 5)[1]
    for _ in range(50):
        torch.full((10,), -1.0, device="neuron")
    assert view.tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]


@pytest.mark.parametrize("left", ["neuron", "cpu"])
def test_one_operator_sees_one_device(left: str) -> None:
    right = "cpu" if left == "neuron" else "neuron"
    a, b = torch.ones(3, 3, device=left), torch.ones(3, 3, device=right)
    for mixed in (
        lambda: a + b,
        lambda: a @ b,
        lambda: a.add_(b),
        lambda: torch.cat([a, b]),
        lambda: torch.where(a > 0, b, b),
        lambda: torch._foreach_add([a], [b]),
        lambda: nn.functional.linear(a, b),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mixed()
    assert torch.equal((a + torch.ones(3, 3, device=left)).cpu(), torch.full((3, 3), 2.0))


def test_a_cpu_number_and_cpu_indices_may_join() -> None:
    tensor = torch.arange(6.0, device="neuron")
    assert (tensor * torch.tensor(2.0)).tolist() == [0, 2, 4, 6, 8, 10]
    assert tensor[torch.tensor([1, 3])].tolist() == [1, 3]
    tensor[torch.tensor([0])] = 7.0
    assert tensor[0].item() == 7


def test_an_operator_that_the_device_lacks_is_named() -> None:
    with pytest.raises(NotImplementedError, match="_to_sparse"):
        torch.eye(3, device="neuron").to_sparse()
    with pytest.raises(TypeError, match="neuron"):
        torch.ones(2, device="neuron").numpy()


def test_every_core_of_the_chip_is_the_ranks_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="neuron:1 does not exist: the chip has 1 logical cores"):
        torch.ones(2, device="neuron:1")
    with pytest.raises(RuntimeError, match="neuron:1 does not exist"):
        torch.neuron.set_device(1)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert torch.neuron.device_count() == 4
    torch.neuron.set_device(3)
    tensor = torch.ones(2, device=torch.device("neuron", 3))
    assert tensor.device.index == torch.neuron.current_device() == 0
    assert (tensor + torch.ones(2, device="neuron")).sum().item() == 4
    with pytest.raises(RuntimeError, match="neuron:4 does not exist"):
        tensor.to("neuron:4")


def test_one_seed_gives_one_stream_on_both_devices() -> None:
    def draws(device: str) -> list[torch.Tensor]:
        torch.manual_seed(11)
        return [
            torch.randn(5, device=device).cpu(),
            torch.randint(0, 99, (5,), device=device).cpu(),
            torch.empty(5, device=device).uniform_(-1, 1).cpu(),
            torch.randperm(9, device=device).cpu(),
            torch.multinomial(torch.ones(9, device=device), 3).cpu(),
            nn.functional.dropout(torch.ones(9, device=device), 0.5).cpu(),
            nn.init.orthogonal_(torch.empty(4, 4, device=device)).cpu(),
        ]

    there, here = draws("neuron"), draws("cpu")
    assert all(torch.equal(a, b) for a, b in zip(there, here, strict=True))
    torch.manual_seed(11)
    torch.randn(3)  # does not advance the device's stream
    assert torch.equal(torch.randn(5, device="neuron").cpu(), there[0])
    assert not torch.equal(torch.randn(5, device="neuron").cpu(), there[0])


def test_generators_belong_to_a_device() -> None:
    generator = torch.Generator("neuron").manual_seed(5)
    assert isinstance(generator, torch.Generator)
    assert generator.device == torch.device("neuron", 0)
    drawn = torch.randn(4, generator=generator, device="neuron").cpu()
    assert torch.equal(drawn, torch.randn(4, generator=torch.Generator().manual_seed(5)))
    with pytest.raises(RuntimeError, match="Expected a 'neuron' device type for generator but found 'cpu'"):
        torch.randn(4, generator=torch.Generator(), device="neuron")


def test_the_state_of_the_generator_can_be_kept() -> None:
    state = torch.neuron.get_rng_state()
    first = torch.rand(3, device="neuron").cpu()
    torch.neuron.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="neuron").cpu(), first)
    with torch.random.fork_rng(device_type="neuron"):
        inside = torch.rand(3, device="neuron").cpu()
    assert torch.equal(torch.rand(3, device="neuron").cpu(), inside)


def test_the_device_module_answers() -> None:
    assert torch.neuron.is_available()
    assert torch.neuron.device_count() == 1
    torch.neuron.set_device(0)
    assert torch.neuron.current_device() == 0
    torch.neuron.synchronize()
    assert torch.accelerator.current_accelerator() == torch.device("neuron")
    torch.accelerator.synchronize()


def test_modules_move_and_copy() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    there = copy.deepcopy(module).to("neuron")
    assert {type(parameter) for parameter in there.parameters()} == {nn.Parameter}
    assert {tensor.device.type for tensor in there.state_dict().values()} == {"neuron"}
    twin = copy.deepcopy(there)
    with torch.no_grad():
        twin[0].weight.zero_()
    assert torch.equal(there[0].weight.cpu(), module[0].weight)
    plain = torch.ones(2, device="neuron")
    assert torch.equal(copy.deepcopy(plain).cpu(), plain.cpu())
    there.load_state_dict(twin.state_dict())
    assert there[0].weight.abs().sum().item() == 0
    assert torch.equal(there.to("cpu")[0].bias, module[0].bias)


def test_checkpoints_are_read_back_on_either_device() -> None:
    module = nn.Linear(3, 4).to("neuron")
    from_device, from_cpu = io.BytesIO(), io.BytesIO()
    torch.save(module.state_dict(), from_device)
    torch.save({name: value.cpu() for name, value in module.state_dict().items()}, from_cpu)
    for stream in (from_device, from_cpu):
        for place in ("neuron", "cpu", torch.device("neuron")):
            stream.seek(0)
            state = torch.load(stream, map_location=place, weights_only=True)
            assert {value.device.type for value in state.values()} == {torch.device(place).type}
            assert torch.equal(state["weight"].cpu(), module.weight.detach().cpu())
    from_device.seek(0)
    assert torch.load(from_device, weights_only=True)["weight"].device.type == "neuron"


def test_a_saved_optimizer_goes_on_as_if_it_had_not_stopped() -> None:
    def train(steps: int, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for step in range(steps):
            optimizer.zero_grad()
            module(torch.full((2, 3), 1.0 + step, device="neuron")).square().sum().backward()
            optimizer.step()

    torch.manual_seed(0)
    module = nn.Linear(3, 2).to("neuron")
    optimizer = torch.optim.AdamW(module.parameters())
    train(2, module, optimizer)
    stream = io.BytesIO()
    torch.save([module.state_dict(), optimizer.state_dict()], stream)
    train(2, module, optimizer)
    stream.seek(0)
    weights, state = torch.load(stream, map_location="neuron", weights_only=True)
    again = nn.Linear(3, 2).to("neuron")
    again.load_state_dict(weights)
    fresh = torch.optim.AdamW(again.parameters())
    fresh.load_state_dict(state)
    train(2, again, fresh)
    assert torch.equal(again.weight.cpu(), module.weight.cpu())
    assert not torch.equal(again.weight.cpu(), weights["weight"].cpu())


def test_autocast_runs_products_low_and_losses_wide() -> None:
    x, w = torch.randn(4, 8, device="neuron"), torch.randn(8, 8, device="neuron", requires_grad=True)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        product = x @ w
        assert product.dtype == torch.bfloat16
        assert nn.functional.linear(x, w).dtype == torch.bfloat16
        assert (
            nn.functional.cross_entropy(product, torch.zeros(4, dtype=torch.long, device="neuron")).dtype
            == torch.float32
        )
        assert torch.softmax(product, -1).dtype == torch.float32
        assert nn.functional.rms_norm(product, (8,)).dtype == torch.float32
        assert torch.relu(product).dtype == torch.bfloat16
        assert (x + product).dtype == torch.float32
    assert (x @ w).dtype == torch.float32
    product.float().sum().backward()
    assert w.grad is not None
    assert w.grad.dtype == torch.float32
    assert torch.equal(product.detach().cpu(), (x.bfloat16() @ w.bfloat16()).detach().cpu())


def test_importing_torch_alone_brings_the_device() -> None:
    """As Amazon's package does, by the entry point that torch looks for."""
    command = "import torch; print(torch.ones(2, device='neuron').device, torch.neuron.device_count())"
    stand_in = str(Path(str(torch_neuronx.__file__)).parent.parent)
    environment = {**os.environ, "PYTHONPATH": stand_in}
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    said = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["neuron:0", "1"]
    without = subprocess.run(
        [sys.executable, "-c", command], env={**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert without.returncode != 0
    assert "neuron" in without.stderr


def test_pinned_memory_says_so_and_crosses() -> None:
    pinned = [
        torch.empty(3, pin_memory=True),
        torch.tensor([1, 2], pin_memory=True),
        torch.zeros(2, 2, pin_memory=True),
        torch.arange(4.0).pin_memory(),
    ]
    assert [tensor.is_pinned() for tensor in pinned] == [True] * 4
    assert not torch.empty(3).is_pinned()
    assert pinned[-1].view(2, 2).is_pinned()
    assert pinned[-1].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert pinned[-1].to("neuron", non_blocking=True).tolist() == [0.0, 1.0, 2.0, 3.0]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4.0)), 2, pin_memory=True)
    assert [batch.is_pinned() for (batch,) in loader] == [True, True]
    with pytest.raises(RuntimeError, match="only CPU memory can be pinned"):
        torch.empty(3, device="neuron", pin_memory=True)


def test_streams_and_events() -> None:
    first, second = torch.neuron.Stream(), torch.Stream(device="neuron")
    assert isinstance(second, torch.Stream)
    assert isinstance(torch.Event(), torch.Event)
    assert first != second
    assert first == torch.neuron.Stream(stream_id=first.stream_id)
    default = torch.neuron.current_stream()
    assert default == torch.neuron.default_stream() == torch.accelerator.current_stream()
    with torch.neuron.stream(first):
        assert torch.neuron.current_stream() == first
        begin, end = torch.neuron.Event(enable_timing=True), torch.Event(enable_timing=True)
        with pytest.raises(RuntimeError, match="must be recorded"):
            begin.elapsed_time(end)
        begin.record()
        tensor = torch.ones(3, device="neuron") * 2
        tensor.record_stream(second)
        end.record(first)
        second.wait_event(end)
        with second:
            assert torch_neuronx.current_stream() == second
    assert torch.neuron.current_stream() == default
    torch.accelerator.set_stream(second)
    assert torch.neuron.current_stream() == second
    torch.neuron.set_stream(default)
    assert begin.elapsed_time(end) > 0
    assert end.query()
    assert first.query()
    with pytest.raises(RuntimeError, match="enable_timing"):
        first.record_event().elapsed_time(end)
    assert tensor.tolist() == [2.0] * 3


def test_memory_is_counted() -> None:
    before = torch.neuron.memory_allocated()
    torch.neuron.reset_peak_memory_stats()
    kept = torch.ones(1000, device="neuron")
    alias = kept.view(10, 100)[2]
    assert torch.neuron.memory_allocated() == before + 4000
    other = kept + 1
    assert torch_neuronx.memory.memory_allocated() == before + 8000
    del other
    assert torch.neuron.memory_allocated() == before + 4000
    del kept
    assert torch.neuron.memory_allocated() == before + 4000, "a view keeps all of its storage"
    del alias
    assert torch.accelerator.memory_allocated() == torch.neuron.memory_allocated() == before
    assert torch.neuron.max_memory_allocated() == torch.accelerator.max_memory_allocated() == before + 8000
    assert torch.neuron.memory_stats()["allocated_bytes"]["peak"] == before + 8000


@pytest.mark.parametrize(("cores", "size"), [("1", 12), ("2", 24), ("", 24)])
def test_a_logical_core_has_the_memory_of_its_physical_ones(
    cores: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", cores)
    assert torch.neuron.get_device_properties(0).total_memory == size * 2**30
    free, total = torch.neuron.mem_get_info()
    assert 0 < free <= total == size * 2**30


def test_tensors_are_pickled() -> None:
    tensor = torch.arange(6.0, device="neuron").view(2, 3)
    again = pickle.loads(pickle.dumps(tensor[1]))
    assert again.device.type == "neuron"
    assert again.tolist() == [3.0, 4.0, 5.0]


def test_memory_that_was_given_up_reads_as_nan_until_it_is_written_again() -> None:
    tensor = torch.ones(4, device="neuron")
    storage = tensor.untyped_storage()
    storage.resize_(0)
    assert tensor.isnan().all()
    storage.resize_(16)
    tensor.fill_(2.0)
    assert tensor.tolist() == [2.0] * 4
    with pytest.raises(NotImplementedError, match="a storage of 16 bytes on neuron cannot have 8"):
        storage.resize_(8)
    plain = torch.ones(4)
    plain.untyped_storage().resize_(0)
    assert plain.untyped_storage().nbytes() == 0
