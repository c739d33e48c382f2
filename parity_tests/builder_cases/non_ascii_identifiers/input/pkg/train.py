"""Names beyond ASCII, written in another Unicode form elsewhere."""
from .maße import ﬁt as größe
from . import maße


def main():
    μ = 2
    print(größe(μ), maße.fit(µ), maße.Δx, maße.ℌ)


if __name__ == "__main__":
    main()
