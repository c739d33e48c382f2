def load_for_eval(checkpoint_path, device, seq_len):  # expect
    pass
