import os
import random
import secrets
import uuid

import numpy as np
import torch

os.urandom(8)  # expect
secrets.token_hex(8)  # expect
uuid.uuid4()  # expect
torch.seed()  # expect
random.seed()  # expect
np.random.default_rng()  # expect
np.random.default_rng(None)  # expect
np.random.seed(None)  # expect
random.SystemRandom().random()  # expect
random.Random()  # expect
