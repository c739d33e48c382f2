"""What every number in a report is bound to."""

from __future__ import annotations

from scorer.compare.case import Case
from scorer.report.sections import LANES
from scorer.report.words import plain
from scorer.room.receipts import Lane


def provenance(case: Case) -> tuple[tuple[str, str], ...]:
    """Hashes, versions and conditions of the runs, by name."""
    receipts, artifact, profile = case.receipts, case.artifact, case.profile
    facts: list[tuple[str, str]] = [("artifact SHA-256", artifact.sha256)]
    if Lane.LOCAL in receipts:
        subject = receipts[Lane.LOCAL].subject
        facts.append((f"{subject.kind} SHA-256", subject.sha256))
    git = case.manifest.get("git") or {}
    if git.get("commit"):
        facts.append(("git commit", f"{git['commit']}{' with changes not committed' if git.get('dirty') else ''}"))
    facts.append(("contest profile", f"{profile.name}, version {profile.version}"))
    for lane in LANES:
        receipt = receipts.get(lane)
        if receipt is None:
            continue
        said = [receipt.outcome.value, f"{receipt.caches} caches", f"network {receipt.network}"]
        unprotected = {name: why for name, why in receipt.protections.items() if why is not None and name != "network"}
        if unprotected:
            why = "; ".join(dict.fromkeys(unprotected.values()))
            said.append(f"room without protection of {', '.join(unprotected)} ({why})")
        if receipt.clock:
            said.insert(1, f"{receipt.clock.kind} clock")
        if receipt.ranks:
            rank = receipt.ranks[0]
            said[1:1] = [f"{len(receipt.ranks)} of {rank.world_size} ranks", f"Python {rank.python}"]
            said.append(f"Neuron {rank.neuron}")
        facts.append((f"{lane.value} lane", ", ".join(said)))
        if receipt.launch:
            facts.append((f"{lane.value} launch", plain(receipt.launch.text)))
    any_receipt = next((receipts[lane] for lane in LANES if lane in receipts), None)
    if any_receipt:
        kit = any_receipt.kit
        facts.append(("kit SHA-256" + (" (stand-in)" if kit.stand_in else ""), kit.prepare_sha256))
        facts += [(f"kit, {name}", kit.data_sha256[name]) for name in sorted(kit.data_sha256)]
        facts.append(("scorer", any_receipt.scorer_version))
        if any_receipt.ranks:
            packages = any_receipt.ranks[0].packages
            facts.append(("packages", ", ".join(f"{name} {packages[name]}" for name in sorted(packages))))
    return tuple(facts)
