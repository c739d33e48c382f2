# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py
"""A GPT.

    torchrun --standalone --nproc_per_node=N train.py
"""
