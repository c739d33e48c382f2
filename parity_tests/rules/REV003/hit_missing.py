# expect
def load_for_evaluation(checkpoint_path, device):
    pass
