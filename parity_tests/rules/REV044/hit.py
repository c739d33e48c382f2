import prepare
from prepare import causality_check

result = prepare.evaluate_bpb(None, None, 8, 128, "cpu")  # expect
check = causality_check(None, None, 8, 128, "cpu")  # expect
