class Cache:
    def __del__(self):  # expect
        print("gone")

    async def __del__(self):  # expect
        pass
