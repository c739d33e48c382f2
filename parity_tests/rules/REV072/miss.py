class Cache:
    def __delitem__(self, key):
        del self.values[key]

    def delete(self):
        self.__del = None
