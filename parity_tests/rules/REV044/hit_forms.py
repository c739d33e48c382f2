import prepare
import prepare as kit
from prepare import causality_check as check, evaluate_bpb

result = evaluate_bpb(None)  # expect
other = kit.evaluate_bpb(None)  # expect
check(None)  # expect
score = evaluate_bpb
value = score(None)  # expect
getattr(prepare, "evaluate" + "_bpb")(None)  # expect
results = list(map(evaluate_bpb, [None]))  # expect
vars(kit)["causality_check"](None)  # expect
