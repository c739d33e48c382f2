# Copyright of what is not used.
