# expect
def build():
    def load_for_eval(checkpoint_path, device):
        pass

    return load_for_eval


class Hooks:
    @staticmethod
    def load_for_eval(checkpoint_path, device):
        pass
