#!/usr/bin/env python
# -*- coding: latin-1 -*-
# café
def word():
    return "café"
