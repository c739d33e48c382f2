def load_for_eval(checkpoint_path, device):
    match device:
        case "cpu":
            return f"{checkpoint_path!r:>{10}}"
