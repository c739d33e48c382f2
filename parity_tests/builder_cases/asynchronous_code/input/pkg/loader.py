from contextlib import asynccontextmanager

step = 2


@asynccontextmanager
async def ready():
    yield 3


async def batches(limit):
    for step in range(limit):
        yield step
