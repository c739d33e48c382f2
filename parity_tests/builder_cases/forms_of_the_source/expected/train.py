"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""


# ==== pkg/forms.py ====
# Forms of the source that stay as they are.

SINGLE = 'it' "s" r"\raw" \
    "end"

NUMBERS = [1_000, 0xff, 0XFF, 0o17, 0b1, 1e3, 1E3, 1.0, .5, 5., 1j, 0xFF_FF]
TEXTS = ("a" 'b' """c""", u"d", R"\e", f"{1!r:>4}" 'g', """
k
  l	m
""", '\x41\N{DIGIT ONE}')
BYTES = b'h' B"i", rb"\j"
EXTRA = (((1))) + (2)
CONTINUED = 1 + \
    2 + \
  3
assert EXTRA == 3, \
    "message"
ONE = 1
TWO = 2


def tabs(x):
	if x:
		return 'tab'  	# tabs	inside
	return 	"no tab"


@staticmethod  # first
# between decorators
@ staticmethod
# above def
def decorated(a, /, b = 1, *args, c : int=2, ** kwargs) :  # type: (...) -> int
    # type: ignore
    x = lambda *a, k = 1 : (a , k)  # spaces
    return x ( a ) , [ * args ] , { ** kwargs }


# fmt: off
MATRIX = [
    1,0,0,
    0,1,0,
]
# fmt: on
class  Spaced ( object ) :
    # first in the class

    a = 1; b = 2

    # before the method
    def method ( self ) : return self.a

    # last in the class
# at the left


def one_line(): return "x"; "never"
def another(): pass
# directly below


async def waits(a, c, y, z):
    async with a as b, c as d: pass
    async for x in y: z
    return await x


def statements(x, a, A, B):
    global G; G = 1
    del x; x = yield
    try: pass
    except (A,
            B) as e: raise e from None
    else: ...
    finally: pass
    while x: break
    else: pass
    with (open("a") as f,
          open("b")): pass
    return (yield), not x, -x ** 2, x if x else(x), a[1:2, ::3], a[()], (x,), *x, {**a}, {*a}


# ==== pkg/train.py ====


def main():
    print(BYTES, SINGLE, NUMBERS, TEXTS, EXTRA, CONTINUED, ONE, TWO, MATRIX)
    print(tabs(1), tabs(0), decorated(1, 2, 3, d=4), Spaced().method(), one_line(), another(), waits.__name__, statements.__name__)


if __name__ == '__main__': main()
