"""Receipts and comparisons made by hand, for the tests of the reports: one that passes, one that fails."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from scorer.artifact import Artifact
from scorer.compare import Comparison, Offset, Row
from scorer.compare.accounts import KernelReport
from scorer.compare.flame import UpdateProfile
from scorer.compare.flame import conclude as conclude_profile
from scorer.compare.trials.result import Bar, Limit, Picture, Trial
from scorer.contest import Profile, load
from scorer.findings import Finding, Place, finding
from scorer.room.accounts import AccountLine, KernelAccount, Limits, OrderCheck, RankAccounts, Transfers
from scorer.room.flames import Flame, FlameRow, Frame, RankFlames
from scorer.room.receipts import (
    Clock,
    Evaluation,
    KernelLaunch,
    Kit,
    Lane,
    Launch,
    OperatorCall,
    Outcome,
    Parameter,
    PurityTest,
    Rank,
    Receipt,
    Site,
    Subject,
    TimeSplit,
    Update,
)

LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"
KERNELS = {
    "relu_squared_backward": (4, "bfloat16[2048,512] bfloat16[2048,512]", "relu_squared"),
    "relu_squared_forward": (4, "bfloat16[2048,512]", "relu_squared"),
    "rms_norm_backward": (9, "bfloat16[2048,128] bfloat16[2048,128] float32[128]", "rms_norm"),
    "rms_norm_forward": (9, "bfloat16[2048,128] float32[128]", "rms_norm"),
    "rotary_qk_norm_backward": (4, "bfloat16[2048,64] bfloat16[2048,64]", "rotary"),
    "rotary_qk_norm_forward": (4, "bfloat16[2048,64]", "rotary"),
    "softcap_cross_entropy_backward": (1, "float32[2048,2048] int32[2048]", "cross_entropy"),
    "softcap_cross_entropy_forward": (1, "float32[2048,2048] int32[2048]", "cross_entropy"),
}


def sample_profile() -> Profile:
    return load("embedded")


def sample_artifact() -> Artifact:
    manifest: dict[str, Any] = {
        "manifest_version": 1,
        "artifact_sha256": "5f1c" + "0" * 60,
        "git": {"commit": "0133519f", "dirty": False},
        "knobs": {
            "depth": {"value": 4, "origin": "file recipe/configs/embedded.yaml:3"},
            "width": {"value": 128, "origin": "file recipe/configs/embedded.yaml:4"},
            "norm": {"value": "nki", "origin": "file recipe/configs/embedded.yaml:9"},
            "matrix_learning_rate": {"value": 0.02, "origin": "default recipe/config.py:41"},
            "betas": {"value": [0.8, 0.95], "origin": "default recipe/config.py:44"},
        },
        "kernels": {
            name: {"launches_per_update": count, "place": f"recipe/kernels/{file}.py:{20 + count}"}
            for name, (count, _, file) in KERNELS.items()
        },
    }
    return Artifact(
        train_py=Path("train.py"),
        source="pass\n" * 9000,
        launch_command=LAUNCH,
        manifest=manifest,
        sha256="5f1c" + "0" * 60,
        places=None,
    )


def sample_receipts(*, norm_runs: bool = True, updates: int = 118) -> dict[Lane, Receipt]:
    """Three lanes and the control; with `norm_runs` off, the artifact's RMSNorm kernel stops launching at update 3."""
    local = _run(Lane.LOCAL, updates, shift_from=None, flags="--optlevel=1" if norm_runs else "")
    artifact = _run(Lane.ARTIFACT, updates, shift_from=None if norm_runs else 3)
    control = _run(Lane.CONTROL, 8, shift_from=0)
    trusted = _receipt(Lane.TRUSTED).model_copy(
        update={
            "evaluations": [
                _evaluation("trusted, public settings", "public_val", 32768, 128, 1.83421),
                _evaluation("kit, by its command", "public_val", 32768, 128, 1.83421),
                _evaluation("trusted, official settings", "private_val", 65536, 128, 1.84093),
            ]
        }
    )
    trusted.purity, trusted.purity_seconds = purity_tests(), 3.4
    return {Lane.LOCAL: local, Lane.ARTIFACT: artifact, Lane.TRUSTED: trusted, Lane.CONTROL: control}


def purity_tests() -> list[PurityTest]:
    """A few trials of each outcome that a sound model has."""
    shape = {"allowed": 0.061, "unit": "logit", "dtypes": ["bfloat16"]}
    return [
        PurityTest.model_validate({"reason": None, "largest": None, **shape, **trial})
        for trial in (
            {"test": "causality", "trial": "tokens replaced from position 1, 2, 64", "outcome": "passed",
             "largest": 0.0, "code": "PUR010"},
            {"test": "causality", "trial": "in float32 on cpu", "outcome": "not run",
             "reason": "kernels take tensors on neuron", "code": "PUR010"},
            {"test": "batch size", "trial": "alone", "outcome": "passed", "largest": 0.0071, "code": "PUR012"},
            {"test": "batch size", "trial": "in a batch of 7", "outcome": "passed", "largest": 0.0102,
             "code": "PUR012"},
            {"test": "bounded memory", "trial": "4 batches more", "outcome": "passed", "largest": 2.0**20,
             "allowed": 2.0**24, "unit": "bytes", "dtypes": [], "code": "PUR024"},
            {"test": "worth of what lies ahead", "trial": "35 targets", "outcome": "passed", "largest": 2e-6,
             "allowed": 1e-5, "unit": "bpb", "code": "PUR028"},
        )
    ]  # fmt: skip


def passing() -> Comparison:
    return _comparison("pass", "Nothing differs that could matter, and the sensitivity control was seen to differ.", [])


def failing() -> Comparison:
    findings = [
        finding(
            _code("KRN"),
            "rms_norm_forward ran 0 times an update in the artifact, 9 in the recipe; aten::rsqrt ran instead",
            place=Place(file="recipe/model.py", line=61),
            artifact_line=402,
            lane="artifact",
            rank=0,
            update=3,
            evidence={"expected": 9, "local": 9, "artifact": 0, "instead": ["aten::rsqrt", "aten::mean"]},
        ),
        finding(
            _code("LCK"),
            "losses part at update 3: 0x1.5f3a2p+2 in the recipe, 0x1.5f3a6p+2 in the artifact",
            place=Place(file="recipe/train.py", line=88),
            lane="artifact",
            rank=0,
            update=3,
            evidence={"local": "0x1.5f3a2p+2", "artifact": "0x1.5f3a6p+2"},
        ),
        finding(
            _code("REV"),
            "the environment variable NEURON_CC_FLAGS is read with a default: a value set outside wins silently",
            place=Place(file="recipe/train.py", line=12),
            artifact_line=31,
            severity="advice",
        ),
    ]
    return _comparison("fail", "Two findings: the artifact is not the program that the recipe is.", findings)


def undecided() -> Comparison:
    reason = "The control came out like the artifact, so that equality means nothing."
    return Comparison(verdict="inconclusive", reason=reason, findings=[], rows=[], offsets=[])


def _code(family: str) -> str:
    """Some code of a family: which one does not matter to a report."""
    # Whoever defines codes must have been imported.
    import scorer.review
    import scorer.trusted.judge  # noqa: F401
    from scorer.findings import CODES

    return min(code for code in CODES if code.startswith(family))


def _comparison(verdict: Any, reason: str, findings: list[Finding]) -> Comparison:
    same = verdict == "pass"
    rows = [
        Row("outcome", "complete, exit 0", "complete, exit 0", "complete", True),
        Row("updates", "118", "118", "", True),
        Row("final loss", "3.41207", "3.41207" if same else "3.43977", "", same),
        Row("parameters after the window", "9c41f7ab03de", "9c41f7ab03de" if same else "77d0b19e4c55", "", same),
        Row("checkpoint", "44ac81e0b7f2", "44ac81e0b7f2" if same else "d7e02b8c61a9", "loads, 30 tensors", same),
        Row("kernel launches an update", "36", "36" if same else "27", "", same),
        Row("operators of update 3", "61 kinds, 1,204 calls", "61 kinds, 1,204 calls", "", True),
        Row("environment", "2 variables matter", "the same", "", True),
        Row("val_bpb at own settings", "1.83421", "", "1.83421", True),
        Row("val_bpb, official settings", "", "", "1.84093", None),
        Row("time", "61.2 s", "60.8 s", "9.1 s", None),
    ]
    steps = [
        ("recipe, in memory", 0.0),
        ("weights after save", 0.0),
        ("import path", 0.0),
        ("token count", 0.0112),
        ("shard", -0.00448),
    ]
    offsets, at = [], 1.83421
    for name, part in steps:
        offsets.append(Offset(name, at, at + part, part, "trusted, official settings"))
        at += part
    return Comparison(verdict=verdict, reason=reason, findings=findings, rows=rows, offsets=offsets)


def _run(lane: Lane, updates: int, shift_from: int | None, flags: str = "--optlevel=1") -> Receipt:
    def shifted(update: int) -> bool:
        return shift_from is not None and update >= shift_from

    def loss(update: int, rank: int) -> float:
        noise = 0.06 * math.sin(update * 12.9898 + rank) * math.exp(-update / 90)
        base = 3.25 + 4.4 * math.exp(-update / 17) + 0.9 * math.exp(-update / 80) + noise
        return base + (0.02 + 0.004 * (update - (shift_from or 0)) if shifted(update) else 0.0)

    ranks = []
    for rank in range(2):
        records = [
            Update(
                update=update,
                losses=[loss(update, rank).hex()],
                seconds=0.42 if update > 2 else 1.4,
                launches=[
                    KernelLaunch(kernel=name, count=count, shapes=[shape], site=Site(file="train.py", line=100 + count))
                    for name, (count, shape, _) in sorted(KERNELS.items())
                    if not (shifted(update) and name == "rms_norm_forward" and lane is Lane.ARTIFACT)
                ],
            )
            for update in range(updates)
        ]
        ranks.append(_rank(rank, lane, records, replaced=lane is Lane.ARTIFACT and shift_from is not None, flags=flags))
    train = 49.5 if updates > 10 else 3.25
    split = TimeSplit(
        start_up=9.75,
        train=train,
        tail=1.75,
        total=11.5 + train,
        parts={
            "launch": 4.5,
            "set-up": 2.25,
            "first updates": 3.0,
            "train": train,
            "save": 0.5,
            "evaluation": 1.0 if lane is Lane.LOCAL else 0.0,
            "exit": 0.25 if lane is Lane.LOCAL else 1.25,
        },
    )
    return _receipt(lane).model_copy(update={"ranks": ranks, "time": split})


def _rank(rank: int, lane: Lane, updates: list[Update], replaced: bool, flags: str) -> Rank:
    environment = {
        "NEURON_LOGICAL_NC_CONFIG": "2",
        "NEURON_CC_FLAGS": f"--model-type=transformer {flags}".strip(),
        "OMP_NUM_THREADS": "1",
        "HOME": f"/tmp/room-{lane.value}/home",
        "RANK": str(rank),
    }
    census = [
        OperatorCall(
            operator="aten::mm",
            signature="bfloat16[2048,128] bfloat16[128,512]",
            count=24,
            site=Site(file="train.py", line=212),
        ),
        OperatorCall(
            operator="aten::rsqrt",
            signature="float32[2048,1]",
            count=9 if replaced else 0,
            site=Site(file="train.py", line=402),
        ),
    ]
    return Rank(
        rank=rank,
        world_size=2,
        python="3.11.7",
        argv=["train.py"],
        environment_start=environment,
        environment_end=environment,
        packages={"torch": "2.13.0", "numpy": "2.4.1"},
        neuron="stand-in",
        devices=["neuron"],
        knobs={},
        parameters=[Parameter(name="embedding.weight", shape=[2048, 128], dtype="bfloat16", device="neuron")],
        updates=updates,
        census_update=3,
        census=[call for call in census if call.count],
        events=[],
        observer_seconds=0.3,
    )


def _receipt(lane: Lane) -> Receipt:
    return Receipt(
        scorer_version="0.1.0",
        lane=lane,
        outcome=Outcome.COMPLETE,
        exit_code=0,
        problem=None,
        problem_site=None,
        profile="embedded",
        profile_version=1,
        subject=Subject(
            kind="recipe" if lane is Lane.LOCAL else "file",
            sha256=("71ab" if lane is Lane.LOCAL else "5f1c") + "0" * 60,
        ),
        kit=Kit(stand_in=True, prepare_sha256="be" * 32, data_sha256={"tokenizer.json": "a1" * 32}),
        launch=Launch(
            text=LAUNCH, environment={"NEURON_LOGICAL_NC_CONFIG": "2"}, nproc_per_node=2, program=["train.py"]
        ),
        clock=Clock(kind="virtual", seconds_per_update=0.5),
        caches="warm",
        network="none",
        ranks=[],
        time=None,
        checkpoint=None,
        evaluations=[],
        summary={},
        log_steps=[],
        log_tail=[],
        left_files=[],
        left_processes=[],
    )


def _evaluation(name: str, split: str, tokens: int, seq_len: int, bpb: float) -> Evaluation:
    return Evaluation(
        name=name,
        split=split,
        seq_len=seq_len,
        batch_size=8,
        world_size=1,
        device="neuron",
        num_tokens=tokens,
        num_bytes=tokens * 4,
        total_nats=(bpb * math.log(2) * tokens * 4).hex(),
        val_bpb=bpb.hex(),
        seconds=3.1,
    )


def sample_trial() -> Trial:
    """A clock trial in which one script runs over the budget, and one has an interval."""
    place = Place(file="recipe/train.py", line=88)
    over = finding("RUN014", "script 'stall': 61.3 s are charged of 60 s", place=place, lane="artifact")
    return Trial(
        trial="clock",
        contest="embedded",
        contest_version=1,
        artifact_sha256="5f1c" + 60 * "0",
        launch="torchrun --standalone --nproc_per_node=2 train.py",
        verdict="fail",
        reason=f"RUN014 {over.message} ({place})",
        facts={"budget": "60 s, of which 3 s stay free", "update": "1 s, 60 to the budget"},
        columns=["script", "updates", "charged", "margin", "verdict"],
        rows=[["as planned", "56", "56.5", "3.5", "pass"], ["stall <b>", "56", "61.3", "-1.3", "RUN014"]],
        picture=Picture(
            title="Charged seconds",
            unit="s",
            form=".1f",
            bars=[Bar(label="as planned", value=56.5, low=55.0, high=58.0), Bar(label="stall <b>", value=61.3)],
            limits=[Limit(name="the budget", value=60.0)],
        ),
        findings=[over],
    )


def sample_kernels() -> KernelReport:
    """Two kernels, one of which fills SBUF over its life and uses PSUM."""
    engines = {"tensor": 32, "vector": 96, "scalar": 0, "gpsimd": 1, "sync": 0, "dma": 65}
    matmul = KernelAccount(
        kernel="projection_forward",
        cores=2,
        signature="x=bfloat16[4096,1152] weight=bfloat16[1152,4608] scale=0.125",
        site=Site(file="recipe/kernels/projection.py", line=41),
        launches=1024,
        sbuf_peak=198_400,
        psum_peak=12_288,
        instructions=engines,
        cycles={"tensor": 16_384, "vector": 49_152, "scalar": 0, "gpsimd": 2_048, "sync": 0},
        busy_microseconds={"tensor": 6.8, "vector": 51.2, "scalar": 0.0, "gpsimd": 1.7, "sync": 0.0, "dma": 48.3},
        bound="vector",
        microseconds=51.2,
        serial_microseconds=108.0,
        operations=4_294_967_296,
        hbm_bytes=26_214_400,
        transfers=[
            Transfers(
                direction="hbm to sbuf", instructions=49, bytes=20 << 20, descriptors=6272, smallest=4, median=2304
            ),
            Transfers(
                direction="sbuf to hbm", instructions=16, bytes=5 << 20, descriptors=2048, smallest=512, median=2304
            ),
        ],
        occupancy=[(step, 16_000 + 920 * step, 2048 * (step % 7)) for step in range(0, 200, 2)],
        lines=[
            AccountLine(
                site=Site(file="recipe/kernels/projection.py", line=line),
                instruction="nc_matmul",
                engine="tensor",
                count=16,
                bytes=0,
                microseconds=6.8,
            )
            for line in (57, 66)
        ],
        order=OrderCheck(outcome="same", moved=161),
    )
    small = matmul.model_copy(
        update={"kernel": "scaled_<b>", "sbuf_peak": 4096, "psum_peak": 0, "occupancy": [(0, 2048, 0), (1, 4096, 0)]}
    )
    return KernelReport(
        contest="embedded",
        contest_version=1,
        artifact_sha256="5f1c" + 60 * "0",
        launch="torchrun --standalone --nproc_per_node=2 train.py",
        verdict="pass",
        reason="2048 launches of 2 kernels in an update, within SBUF and PSUM",
        rank=1,
        ranks=2,
        launches=2048,
        microseconds=104_857.6,
        limits=Limits(
            sbuf_bytes=212_984,
            psum_bytes=16_384,
            clock_hz={"tensor": 2.4e9, "vector": 0.96e9, "scalar": 1.2e9, "gpsimd": 1.2e9, "sync": 1.2e9},
            least_cycles=64,
            dma_bytes_per_second=368e9,
            dma_least_bytes=2048,
            dma_issue_seconds=3e-7,
        ),
        kernels=[matmul, small],
        findings=[],
    )


def sample_flame() -> UpdateProfile:
    """An update on two ranks with a call of each phase, names long and short, and a kernel."""
    script, kernel = "train.py", "projection_forward[2] x=bfloat16[4096,1152] weight=bfloat16[1152,4608] scale=0.125"
    frames = [
        Frame(file=script, line=12 * depth, function=f"Transformer.block_{depth}.forward") for depth in range(1, 9)
    ]
    rows = [
        FlameRow(phase=phase, stack=[*range(depth)], operator=operator, kernel=launched, count=7, seconds=seconds)
        for phase, depth, operator, launched, seconds in (
            ("forward", 8, "aten::_scaled_dot_product_flash_attention_for_cpu", "", 0.11),
            ("forward", 4, "", kernel, 0.07),
            ("backward", 6, "aten::mm", "", 0.21),
            ("backward", 6, "", "", 0.008),
            ("optimizer", 3, "aten::bmm", "", 0.05),
            ("collectives", 2, "c10d::allreduce_", "", 0.02),
            ("data", 2, "", "", 0.004),
            ("other", 1, "", "", 0.003),
            ("recording", 0, "", "", 0.012),
        )
    ]
    flame = Flame(update=4, seconds=sum(row.seconds for row in rows), frames=frames, rows=rows)
    receipt, artifact = sample_receipts()[Lane.ARTIFACT], sample_artifact()
    updates = [
        receipt.ranks[0].updates[0].model_copy(update={"update": number, "seconds": flame.seconds})
        for number in range(5)
    ]
    ranks = [receipt.ranks[0].model_copy(update={"rank": rank, "updates": updates}) for rank in (0, 1)]
    accounts = RankAccounts(
        rank=0,
        limits=Limits(
            sbuf_bytes=1,
            psum_bytes=1,
            clock_hz={},
            least_cycles=1,
            dma_bytes_per_second=1.0,
            dma_least_bytes=1,
            dma_issue_seconds=1.0,
        ),
        kernels=sample_kernels().kernels,
    )
    return conclude_profile(
        artifact,
        artifact.launch_command,
        sample_profile(),
        receipt.model_copy(update={"ranks": ranks}),
        [RankFlames(rank=rank, flames=[flame]) for rank in (0, 1)],
        [accounts],
    )
