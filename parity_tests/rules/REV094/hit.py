import model

Block = model.Block
count = 0


def build():
    Block = Block(1)  # expect
    return Block


def more():
    count += 1  # expect
    return count


def load_for_eval(checkpoint_path, device):
    return modle.build(checkpoint_path)  # expect
