import site
import sys
from sys import path as places

places.append("..")  # expect
getattr(sys, "path")[:] = []  # expect
vars(sys)["meta_path"].insert(0, None)  # expect
sys.path_hooks.append(print)  # expect
site.addsitedir("lib")  # expect
sys.path_importer_cache.clear()  # expect
sys.path += ["kernels"]  # expect
