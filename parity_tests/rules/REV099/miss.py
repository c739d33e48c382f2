# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import torch.distributed as dist

a = dist.new_group([0, 1, 2, 3])
b = dist.new_group(backend="neuron")
c = dist.new_group(list(range(dist.get_world_size())))
