def load_for_eval(checkpoint_path, device, *, dtype):  # expect
    pass
