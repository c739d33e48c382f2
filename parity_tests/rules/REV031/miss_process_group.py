import torch.distributed as dist


def main():
    dist.init_process_group("neuron")


if __name__ == "__main__":
    try:
        main()
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
