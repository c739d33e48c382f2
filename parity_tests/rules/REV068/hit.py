import torch

model = torch.nn.Linear(1, 1)
torch.save(model.state_dict(), "out/final.pt")  # expect
torch.save({"model_state": model.state_dict()}, "out/final.pt")  # expect
torch.save({"model_state": {}, "model_config": {}, "meta": {"seed": 1}}, "out/final.pt")  # expect
payload = {"model_state": {}, "model_config": {}}
torch.save(payload, "out/final.pt.tmp")  # expect


def save(path):
    torch.save(dict(model=model.state_dict(), config={}), path)  # expect


save("out/final.pt")
