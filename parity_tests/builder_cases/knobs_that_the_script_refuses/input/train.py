"""A script's own refusal: with these knobs it ends here, and what comes behind is never reached."""

import os

OPTIMIZER = os.environ.get("OPTIMIZER", "muon")
if OPTIMIZER == "muon":
    step = 1
elif OPTIMIZER == "adam":
    step = 2
else:
    raise ValueError(f"no optimizer {OPTIMIZER}")


def main():
    print(step)


if __name__ == "__main__":
    main()
