import concurrent.futures
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import torch

Thread(target=print).start()  # expect
threading.Timer(3, print).start()  # expect
pool = ThreadPoolExecutor(2)  # expect
getattr(threading, "Thread")(target=print)  # expect
loader = torch.utils.data.DataLoader([], num_workers=4)  # expect


class Prefetch(threading.Thread):  # expect
    pass
