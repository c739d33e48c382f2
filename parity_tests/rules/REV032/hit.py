SCORING = __name__ != "__main__"  # expect


def load_for_eval(checkpoint_path, device):
    if __name__ == "__main__":  # expect
        return None
    return checkpoint_path
