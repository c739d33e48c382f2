import asyncio

from .loader import batches, ready


async def main_loop():
    async with ready() as limit:
        return [batch async for batch in batches(limit)]


def main():
    print(asyncio.run(main_loop()))


if __name__ == "__main__":
    main()
