try:  # expect
    import nki
except ImportError:
    nki = None
try:  # expect
    import math

    from torch_neuronx import wrap_nki
except (ImportError, RuntimeError) as error:
    print(error)


def main():
    try:  # expect
        if True:
            import yaml
    except ModuleNotFoundError:
        pass
