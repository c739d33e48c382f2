def load_for_eval(checkpoint_path: str, device="cpu", strict: bool = True, *, dtype=None):
    pass
