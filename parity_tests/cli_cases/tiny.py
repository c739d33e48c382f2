"""A bigram model, as somebody who never saw this project would submit it.

Launch: NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py
Trains six updates, far below the budget, and saves out/final.pt; `load_for_eval` gives the model back.
"""

from pathlib import Path

import prepare
import torch
import torch_neuronx  # noqa: F401 (registers the device)
from torch import nn

UPDATES = 6
WIDTH = 16
CHECKPOINT = "out/final.pt"


class Bigram(nn.Module):
    """Logits of the next token from the current one alone."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(prepare.TOKENIZER_VOCAB_SIZE, WIDTH)
        self.head = nn.Linear(WIDTH, prepare.TOKENIZER_VOCAB_SIZE, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(tokens))


def load_for_eval(checkpoint_path: str, device: str) -> nn.Module:
    """The trained model on one device, in eval mode."""
    state = torch.load(checkpoint_path, map_location="cpu", weights_only=True)["model_state"]
    model = Bigram()
    model.load_state_dict(state, strict=True)
    return model.eval().to(device)


def main() -> None:
    """Train and save."""
    torch.manual_seed(0)
    device = torch.device("neuron")
    model = Bigram().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    tokenizer = prepare.ensure_tokenizer()
    batches = prepare.make_dataloader(tokenizer, 4, 64, "train", device)
    for step in range(UPDATES):
        inputs, targets, _ = next(batches)
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        prepare.record_step_boundary(step)
        prepare.print0(f"step {step:05d} | loss {loss.item():.4f}")
    Path(CHECKPOINT).parent.mkdir(exist_ok=True)
    state = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    meta = {"step": UPDATES, "total_train_tokens": UPDATES * 4 * 64, "world_size": 1}
    torch.save({"model_state": state, "model_config": {"width": WIDTH}, "meta": meta}, CHECKPOINT)


if __name__ == "__main__":
    main()
