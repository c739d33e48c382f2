"""Constants that early kits lack, and names that are asked for without anything in their place."""

import nki
import prepare

CAP = getattr(prepare, "TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS", 900)
jit = getattr(nki, "jit")
