import multiprocessing
import os
import socket
import subprocess

import torch


def run(requests, socket_name):
    try:
        return requests.get(socket_name)
    except (subprocess.CalledProcessError, socket.timeout) as error:
        raise RuntimeError(socket_name) from error


cores = multiprocessing.cpu_count()
print(socket.gethostname(), os.cpu_count())
torch.distributed.init_process_group("neuron")
torch.distributed.barrier()


class Socket:
    def connect(self):
        self.socket = self
        return self.socket.connect()
