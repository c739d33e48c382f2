def load_for_eval(path, device):  # expect
    pass
