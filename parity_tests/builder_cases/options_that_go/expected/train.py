"""third: module-level argparse script

Contest: Builder cases.
Launch: torchrun --standalone --nproc_per_node=1 train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
Built by submission-parity: every knob is frozen to the values; manifest.json lists them.
"""


# ==== train.py ====

WIDTH = 3 * 64
HEADS = max(1, WIDTH // 128)

class SGD:
    def __init__(self, lr): self.lr = lr
    def step(self): return "sgd"

def make():
    return SGD(0.5)

def train(depth=3):
    for i, layer in enumerate([1, 2, 3]):
        print(i, layer, depth)
    print("swa")
    return {k: v for k, v in {"depth": 3, "lr": 0.5, "min_lr": 0.3, "opt": "sgd", "ema": False, "swa": True, "layers": [1, 2, 3]}.items() if k.startswith("l")}

def main():
    print(make().step(), train(), 0.3, WIDTH, HEADS)
    print(None, 3, 7, True)
    device = "cpu"

if __name__ == "__main__":
    main()
