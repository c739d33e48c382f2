import os

os.environ.setdefault("NEURON_COMPILE_CACHE_URL", "/tmp/neuron_cache")
