import os
from dataclasses import dataclass
@dataclass(frozen=True)
class C:
    a: int = int(os.environ.get("A", 1))
CFG = C()
vars(CFG)["a"] = 50
def main():
    print(CFG.a, "big" if CFG.a > 10 else "small")
if __name__ == "__main__":
    main()
