# launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py --num-steps=10 (expect)
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int)
