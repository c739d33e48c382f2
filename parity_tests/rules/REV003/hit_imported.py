from model import load_for_eval  # expect
