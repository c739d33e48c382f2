"""Built from pkg/train.py.

Contest: Builder cases.
Launch: torchrun --standalone train.py
Budget: 60 s of training; start-up is free up to 30 s, to the end of update 5.
"""

import asyncio
from contextlib import asynccontextmanager


# ==== pkg/loader.py ====


@asynccontextmanager
async def ready():
    yield 3


async def batches(limit):
    for step in range(limit):
        yield step


# ==== pkg/train.py ====


async def main_loop():
    async with ready() as limit:
        return [batch async for batch in batches(limit)]


def main():
    print(asyncio.run(main_loop()))


if __name__ == "__main__":
    main()
