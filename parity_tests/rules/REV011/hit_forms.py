import os

os.environ["NEURON_CC_FLAGS"] = os.environ.get("NEURON_CC_FLAGS", "--optlevel=1")  # expect
if "NEURON_RT_LOG" not in os.environ:
    os.environ["NEURON_RT_LOG"] = "1"  # expect
if not os.environ.get("XLA_USE_BF16"):
    os.environ["XLA_USE_BF16"] = "1"  # expect
getattr(os, "environ").setdefault("NKI_PRECISE_FP", "1")  # expect
os.environ["NEURON_FUSE_SOFTMAX"] = os.getenv("NEURON_FUSE_SOFTMAX") or "1"  # expect
for name in ("NEURON_RT_NUM_CORES", "NEURON_RT_EXEC_TIMEOUT"):
    os.environ.setdefault(name, "1")  # expect


def put(name, value):
    os.environ.setdefault(name, value)  # expect


put("NEURON_CC_FLAGS", "--optlevel=1")
