import os

rank = int(os.environ["RANK"])
world_size = int(os.environ.get("WORLD_SIZE", "1"))
distributed = "LOCAL_RANK" in os.environ
restarts = os.getenv("TORCHELASTIC_RESTART_COUNT")
lnc = os.environ["NEURON_LOGICAL_NC_CONFIG"]
data = os.environ["NEURON_COMPETITION_R1_CACHE_DIR"]
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
del os.environ["NEURON_RT_LOG"]


class Environment:
    environ: dict[str, str] = {}


other = Environment()
value = other.environ["DEPTH"]


def read(environ, getenv):
    return environ["X"], getenv("X")


# os.environ["DEPTH"]
TEXT = 'os.environ["DEPTH"]'
