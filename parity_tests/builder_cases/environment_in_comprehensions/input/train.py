import os

DEFAULTS = {"DEPTH": "2", "ACT": "gelu"}
KNOBS = {name.lower(): os.environ.get(f"FF_{name}", default) for name, default in DEFAULTS.items()}
DEPTH = int(KNOBS["depth"])
ON = [name for name in ("A", "B") if os.environ.get("FF_" + name, "0") == "1"]
SIZES = [len(name) for name in ON]  # reads nothing


def main():
    if KNOBS["act"] == "gelu":
        print("gelu", DEPTH)
    else:
        print("another", DEPTH)
    for name in ON:
        print("with", name, SIZES)


if __name__ == "__main__":
    main()
