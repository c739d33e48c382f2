import torch

model = torch.nn.Linear(1, 1)
meta = {"step": 1, "total_train_tokens": 2, "world_size": 3}
torch.save({"model_state": model.state_dict(), "model_config": {}, "meta": meta}, "out/final.pt")
payload = {"model_state": model.state_dict()}
payload["model_config"] = {"depth": 12}
payload["meta"] = dict(step=1, total_train_tokens=2, world_size=3)
torch.save(payload, "out/final.pt")
torch.save({"losses": [1.0]}, "out/losses.pt")


def save(**parts):
    torch.save(parts, "out/final.pt")
    torch.save({**parts}, "out/final.pt")


save(model_state={})
