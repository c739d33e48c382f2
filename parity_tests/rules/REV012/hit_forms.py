import os

import torch.distributed

put = os.environ.__setitem__


class Runner:
    pass


def main():
    torch.distributed.init_process_group(backend="neuron")
    getattr(os, "environ")["NEURON_CC_FLAGS"] = "--optlevel=1"  # expect
    os.putenv("XLA_USE_BF16", "1")  # expect
    os.environ |= {"NKI_PRECISE_FP": "1"}  # expect
    put("NEURON_RT_LOG", "1")  # expect
    os.environ.setdefault("NEURON_FUSE_SOFTMAX", "1")  # expect
