def loader(split, load):
    if split != "private_val":  # expect
        raise ValueError(split)
    if split == load("private_val"):  # expect
        raise ValueError(split)
    if split == "private_val":  # expect
        return load(split)
    if split == "private_val": raise ValueError(load("private_val"))  # expect
