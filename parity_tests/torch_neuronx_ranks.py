"""One rank of test_torch_neuronx_distributed: the operations of the process group "neuron", on neuron and CPU tensors.

Writes a JSON object, name of the operation -> the values that this rank ended with, to the directory given as argument.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch_neuronx  # noqa: F401  (registers the process group)


def operations(rank: int, world: int, device: str) -> dict[str, object]:
    def mine(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.full(shape, rank + 1.0, device=device, dtype=dtype)

    found: dict[str, torch.Tensor] = {}
    found["all_reduce"] = mine(2)
    dist.all_reduce(found["all_reduce"])
    found["all_reduce bf16 average"] = mine(2, dtype=torch.bfloat16)
    dist.all_reduce(found["all_reduce bf16 average"], op=dist.ReduceOp.AVG)
    found["all_reduce later"] = mine(2)
    work = dist.all_reduce(found["all_reduce later"], op=dist.ReduceOp.MAX, async_op=True)
    work.wait()
    found["all_reduce of a view"] = torch.zeros(3, 2, device=device)
    dist.all_reduce(found["all_reduce of a view"][1].add_(rank + 1))
    found["broadcast"] = mine(2)
    dist.broadcast(found["broadcast"], src=world - 1)
    parts = [torch.empty(2, device=device) for _ in range(world)]
    dist.all_gather(parts, mine(2))
    found["all_gather"] = torch.stack(parts)
    found["all_gather_into_tensor"] = torch.empty(2 * world, device=device)
    dist.all_gather_into_tensor(found["all_gather_into_tensor"], mine(2))
    found["reduce_scatter_tensor"] = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(found["reduce_scatter_tensor"], torch.arange(2.0 * world, device=device) * (rank + 1))
    found["reduce"] = mine(2)
    dist.reduce(found["reduce"], dst=0)
    found["send and recv"] = mine(2)
    if rank == 0:
        dist.send(found["send and recv"], dst=1)
    elif rank == 1:
        dist.recv(found["send and recv"], src=0)
    group = dist.new_group([0, 1])
    found["all_reduce in a group of two"] = mine(2)
    dist.all_reduce(found["all_reduce in a group of two"], group=group)
    found["functional all_reduce"] = functional.all_reduce(mine(2), "sum", dist.group.WORLD) + 0
    found["all_to_all_single"] = torch.empty(world, device=device)
    dist.all_to_all_single(found["all_to_all_single"], torch.arange(float(world), device=device) + 10 * rank)
    dist.barrier()
    assert all(tensor.device.type == device for tensor in found.values())
    return {name: tensor.tolist() for name, tensor in found.items() if not (name == "reduce" and rank)}


def data_parallel(rank: int) -> list[list[float]]:
    torch.manual_seed(0)
    module = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to("neuron"))
    module(torch.full((1, 2), rank + 1.0, device="neuron")).sum().backward()
    grad = module.module.weight.grad
    assert grad is not None
    return grad.tolist()


if __name__ == "__main__":
    dist.init_process_group("neuron", device_id=torch.device("neuron", 0))
    rank, world = dist.get_rank(), dist.get_world_size()
    everyone: list[object] = [None] * world
    dist.all_gather_object(everyone, rank * 10)
    result = {
        "backend": dist.get_backend(),
        "neuron": operations(rank, world, "neuron"),
        "cpu": operations(rank, world, "cpu"),
        "objects": everyone,
        "data parallel": data_parallel(rank),
    }
    dist.destroy_process_group()
    Path(sys.argv[1], f"{os.environ['RANK']}.json").write_text(json.dumps(result))
