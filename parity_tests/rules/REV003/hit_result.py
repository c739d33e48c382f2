"""A hook that says it returns something else than the contest asks for."""


def load_for_eval(checkpoint_path, device) -> dict[str, object]:  # expect
    return {"model": checkpoint_path}
