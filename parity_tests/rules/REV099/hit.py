# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
import torch.distributed as dist

a = dist.new_group([0, 1])  # expect
b = dist.new_group(ranks=list(range(2)))  # expect
c = dist.new_group(range(0, 4, 2))  # expect
