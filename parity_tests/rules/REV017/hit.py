import os

os.environ["WORLD_SIZE"] = "1"  # expect
os.environ.update(RANK="0", MASTER_ADDR="localhost")  # expect
os.putenv("LOCAL_RANK", "0")  # expect
os.environ |= {"NEURON_COMPETITION_R1_STEP_LOG": "/dev/null"}  # expect
vars(os)["environ"].__setitem__("NEURON_COMPETITION_R1_CACHE_DIR", "/tmp/data")  # expect
for name in ("RANK", "LOCAL_RANK"):
    os.environ[name] = "0"  # expect
