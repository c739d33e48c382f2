def load_for_eval(checkpoint_path, device):  # expect
    yield checkpoint_path
