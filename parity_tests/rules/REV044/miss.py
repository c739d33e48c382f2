def evaluate_bpb(model):
    return model


evaluate_bpb(None)
