if __name__ == "__main__":

    def load_for_eval(checkpoint_path, device):  # expect
        pass
