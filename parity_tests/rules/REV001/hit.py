def load_for_eval(checkpoint_path, device):
    return 1 +  # expect
