"""Ranks of test_torch_neuronx_distributed: `torch_neuronx_ranks.py DIRECTORY WORLD...`.

For each world size, forks that many ranks after importing torch once, and lets them go through the operations of the
process group "neuron", on neuron and CPU tensors. Rank R of WORLD writes a JSON object, name of the operation -> the
values that it ended with, to DIRECTORY/WORLD-R.json.
"""

import gc
import json
import os
import sys
import traceback
from pathlib import Path

import torch
import torch._dynamo  # DistributedDataParallel wants it: once, and not in every rank
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch_neuronx  # noqa: F401  (registers the process group)


def operations(rank: int, world: int, device: str) -> dict[str, object]:
    def mine(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.full(shape, rank + 1.0, device=device, dtype=dtype)

    found: dict[str, torch.Tensor] = {}
    for name, op in (("sum", dist.ReduceOp.SUM), ("max", dist.ReduceOp.MAX), ("product", dist.ReduceOp.PRODUCT)):
        found[f"all_reduce {name}"] = mine(2)
        dist.all_reduce(found[f"all_reduce {name}"], op=op)
    found["all_reduce bf16 average"] = mine(2, dtype=torch.bfloat16)
    dist.all_reduce(found["all_reduce bf16 average"], op=dist.ReduceOp.AVG)
    found["all_reduce of whole numbers"] = mine(2, dtype=torch.int64)
    dist.all_reduce(found["all_reduce of whole numbers"])
    found["all_reduce later"] = mine(2)
    work = dist.all_reduce(found["all_reduce later"], op=dist.ReduceOp.MIN, async_op=True)
    assert work is not None
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
    found["reduce_scatter"] = torch.empty(1, device=device)
    dist.reduce_scatter(found["reduce_scatter"], [mine(1) + other for other in range(world)])
    found["reduce"] = mine(2)
    dist.reduce(found["reduce"], dst=0)
    gathered = [torch.empty(2, device=device) for _ in range(world)] if rank == 0 else None
    dist.gather(mine(2), gathered, dst=0)
    found["gather"] = torch.stack(gathered) if gathered is not None else mine(1)
    found["scatter"] = torch.empty(2, device=device)
    dist.scatter(found["scatter"], [mine(2) + other for other in range(world)] if rank == 0 else None, src=0)
    found["send and recv"] = mine(2)
    if world > 1:
        sent = dist.P2POp(dist.isend, mine(2), (rank + 1) % world)
        received = dist.P2POp(dist.irecv, found["send and recv"], (rank - 1) % world)
        for request in dist.batch_isend_irecv([sent, received]):
            request.wait()
    group = dist.new_group(list(range(min(2, world))))
    found["all_reduce in a group of two"] = mine(2)
    dist.all_reduce(found["all_reduce in a group of two"], group=group)
    found["functional all_gather"] = functional.all_gather_single(mine(2), 0, dist.group.WORLD) + 0
    found["functional all_reduce"] = functional.all_reduce(mine(2), "sum", dist.group.WORLD) + 0
    found["all_to_all_single"] = torch.empty(world, device=device)
    dist.all_to_all_single(found["all_to_all_single"], torch.arange(float(world), device=device) + 10 * rank)
    together = [mine(2), mine(3)]
    gathered_together = [torch.empty(len(one) * world, device=device) for one in together]
    with dist._coalescing_manager(device=torch.device(device)):
        for whole, one in zip(gathered_together, together, strict=True):
            dist.all_gather_into_tensor(whole, one)
    found["all_gather_into_tensor together"] = torch.cat(gathered_together)
    parts_together = [torch.empty(1, device=device) for _ in range(2)]
    with dist._coalescing_manager(device=torch.device(device)):
        for part in parts_together:
            dist.reduce_scatter_tensor(part, torch.arange(float(world), device=device) * (rank + 1))
    found["reduce_scatter_tensor together"] = torch.cat(parts_together)
    with dist._coalescing_manager(device=torch.device(device)):
        for one in together:
            dist.all_reduce(one)
    found["all_reduce together"] = torch.cat(together)
    dist.barrier()
    assert all(tensor.device.type == device for tensor in found.values())
    ends_at_zero = ("reduce", "gather")
    return {name: tensor.tolist() for name, tensor in found.items() if not (name in ends_at_zero and rank)}


def data_parallel(rank: int) -> list[list[float]]:
    torch.manual_seed(0)
    module = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to("neuron"))
    module(torch.full((1, 2), rank + 1.0, device="neuron")).sum().backward()
    grad = module.module.weight.grad
    assert grad is not None
    return grad.tolist()


def run(directory: Path, rank: int, world: int) -> None:
    dist.init_process_group(
        "neuron",
        init_method=f"file://{directory / f'store-{world}'}",
        rank=rank,
        world_size=world,
        device_id=torch.device("neuron", 0),
    )
    everyone: list[object] = [None] * world
    dist.all_gather_object(everyone, rank * 10)
    told: list[object] = [f"from {rank}"]
    dist.broadcast_object_list(told, src=0)
    result = {
        "backend": dist.get_backend(),
        "neuron": operations(rank, world, "neuron"),
        "cpu": operations(rank, world, "cpu"),
        "objects": [everyone, told],
        "data parallel": data_parallel(rank),
    }
    dist.destroy_process_group()
    (directory / f"{world}-{rank}.json").write_text(json.dumps(result))


def main() -> int:
    gc.freeze()  # what every rank inherits; collected, it would be copied
    directory, *worlds = sys.argv[1:]
    for world in map(int, worlds):
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                os.environ["LOCAL_WORLD_SIZE"] = str(world)
                try:
                    run(Path(directory), rank, world)
                except Exception:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)  # the interpreter's own end takes ten times as long as all that went before
            children.append(child)
        statuses = [os.waitpid(child, 0)[1] for child in children]
        if any(statuses):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
