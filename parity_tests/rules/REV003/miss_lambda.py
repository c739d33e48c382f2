load_for_eval = lambda checkpoint_path, device="cpu": None
