# Copyright (c) The vendors
#
# Licensed under the Apache License, Version 2.0.

"""Everything of theirs."""
