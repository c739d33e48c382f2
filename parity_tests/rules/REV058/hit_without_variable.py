# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
"""A GPT. Run `torchrun --standalone --nproc_per_node=8 train.py`."""
# expect at line 1
