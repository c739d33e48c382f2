import os


def env_int(name, default="0"):
    return int(os.environ.get(name, default))


rank = env_int("RANK")
world_size = env_int("WORLD_SIZE", default="1")
local_rank = env_int(name="LOCAL_RANK")
distributed = all(name in os.environ for name in ("RANK", "WORLD_SIZE"))
launcher = {name: os.environ[name] for name in ("MASTER_ADDR", "MASTER_PORT")}
suffix = "RANK"
again = os.environ[f"LOCAL_{suffix}"]
PREFIX = "LOCAL_"
world = os.getenv(PREFIX + "WORLD_SIZE")


class Launch:
    def variable(self, name):
        return os.environ[name]

    def rank(self):
        return self.variable("RANK")


shared = lambda name: os.environ[name]  # noqa: E731
group = shared("GROUP_RANK")
os.environ.pop("NEURON_RT_LOG", None)
os.environ.update({"NEURON_RT_NUM_CORES": "1"})
os.environ.update(dict(NEURON_RT_EXEC_TIMEOUT="60"))
temporary = os.environ.get("TMPDIR")
