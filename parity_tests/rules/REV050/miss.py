"""A GPT, trained for 30 minutes.

Launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=4 train.py, the full chip.
Budget: 1800 seconds. load_for_eval returns the consolidated model.
"""
