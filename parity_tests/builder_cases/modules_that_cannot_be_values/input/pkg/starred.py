from .rebound import *
