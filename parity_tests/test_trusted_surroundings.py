"""What may not matter to a loaded model, and what it may not do beside computing: each found by its own test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from parity_tests.trusted_samples import VOCABULARY, Workshop, line_of, random_rows, small_profile, submission
from scorer.contest import Profile
from scorer.findings import Finding
from scorer.trusted import purity
from scorer.trusted.purity import surroundings
from scorer.trusted.purity.bench import Bench
from scorer.trusted.purity.isolation import isolated
from scorer.trusted.purity.record import Record
from scorer.trusted.purity.scored import Sampler, _worth, verify
from scorer.trusted.purity.surroundings import hostile_environment, world_environment
from scorer.trusted.replies import Conduct


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with Workshop(tmp_path_factory.mktemp("workshop")) as shop:
        yield shop


def loaded_otherwise(workshop: Workshop, text: str, tmp_path: Path, profile: Profile | None = None) -> Record:
    """The record of the tests that load a submission under other circumstances."""
    model = workshop.model(text)
    record = Record(model.source, model.forward_line)
    rows = random_rows(8)
    profile = profile or small_profile()
    bench = purity.Bench(model, record, profile.evaluation.purity, rows[:4], rows[4:], model.forward(rows[:4]))
    scratch = workshop.room.tmp / tmp_path.name
    scratch.mkdir(exist_ok=True)
    ways = surroundings.variants(model.process.submitted, profile, ["OMP_NUM_THREADS"], "absent", scratch)
    surroundings.unregistered(bench)
    surroundings.indifferent(bench, ways)
    return record


def test_a_model_that_looks_at_nothing_passes_in_every_surrounding(workshop: Workshop, tmp_path: Path) -> None:
    record = loaded_otherwise(workshop, submission(), tmp_path)
    assert record.findings == []
    assert {trial.outcome for trial in record.tests} == {"passed"}
    assert [trial.test for trial in record.tests].count("world size") == 3
    names = {"module name", "working directory", "hostile environment", "import without an entry in sys.modules"}
    assert names <= {trial.test for trial in record.tests}


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ({}, None),
        ({"after": "logits = logits * (1 + 1e-7)"}, None),  # rounding
        ({"after": "logits = logits * 1.1"}, "the logits are different"),
        ({"before": "raise ValueError('no such shape')"}, "forward raises ValueError: no such shape"),
    ],
)
def test_another_file_of_the_submission_must_give_the_same_model(
    workshop: Workshop, tmp_path: Path, pieces: dict[str, str], said: str | None
) -> None:
    hook = small_profile().hooks[0].model_copy(update={"file": "inference.py"})
    profile = small_profile().model_copy(update={"hooks": [*small_profile().hooks, hook]})
    (workshop.room.work / "inference.py").write_text(submission(**pieces), "utf-8")
    record = loaded_otherwise(workshop, submission(), tmp_path, profile)
    (trial,) = (trial for trial in record.tests if trial.test == "other file")
    assert trial.trial == "load_for_eval of inference.py"
    assert [found.code for found in record.findings] == ([] if said is None else ["PUR030"])
    assert all(str(said) in found.message for found in record.findings)


# title, pieces, code, test, text on the line that it must name
DEPENDENT: list[tuple[str, dict[str, str], str, str, str]] = [
    (
        "knows its name",
        {"after": "if __name__ != 'submission_under_test':\n    logits = logits * 1.1"},
        "PUR025",
        "module name",
        "if __name__",
    ),
    (
        "knows its directory",
        {"import_": "import os", "after": "if 'elsewhere' not in os.getcwd() and not os.listdir():\n    logits *= 2"},
        "PUR025",
        "working directory",
        "os.getcwd()",
    ),
    (
        "knows the time zone",
        {"import_": "import os\nZONE = os.environ.get('TZ')", "after": "if ZONE:\n    logits = logits * 1.1"},
        "PUR026",
        "hostile environment",
        "os.environ",
    ),
    (
        "fails where a flag is set",
        {"import_": "import os\nassert 'NEURON_CC_FLAGS' not in os.environ"},
        "PUR026",
        "hostile environment",
        "assert",
    ),
    (
        "knows one world size",
        {"import_": "import os\nTWO = os.environ.get('WORLD_SIZE') == '2'", "after": "if TWO:\n    logits *= 1.1"},
        "PUR027",
        "world size",
        "WORLD_SIZE",
    ),
    (
        "ends as a higher rank",
        {"import_": "import os", "load": "if os.environ.get('RANK') == '7':\n    os._exit(3)"},
        "PUR027",
        "world size",
        "RANK",
    ),
    (
        "needs its entry",
        {"import_": "import sys\nassert __name__ in sys.modules"},
        "PUR002",
        "import without an entry in sys.modules",
        "assert",
    ),
]


@pytest.mark.parametrize(("title", "pieces", "code", "test", "line"), DEPENDENT, ids=[case[0] for case in DEPENDENT])
def test_a_model_that_depends_on_its_surroundings_is_named(
    workshop: Workshop, tmp_path: Path, title: str, pieces: dict[str, str], code: str, test: str, line: str
) -> None:
    text = submission(**pieces)
    record = loaded_otherwise(workshop, text, tmp_path)
    assert [finding.code for finding in record.findings] == [code], title
    assert record.findings[0].artifact_line == line_of(text, line)
    assert [trial.test for trial in record.tests if trial.outcome == "failed"] == [test]
    assert "passed" in {trial.outcome for trial in record.tests}


def test_a_constant_model_voids_the_tests_of_surroundings(workshop: Workshop, tmp_path: Path) -> None:
    record = loaded_otherwise(workshop, submission(after="logits = logits * 0"), tmp_path)
    assert {finding.code for finding in record.findings} == {"PUR019"}
    outcomes = {trial.test: trial.outcome for trial in record.tests}
    assert outcomes["world size"] == outcomes["module name"] == "void"


def test_what_is_set_comes_from_the_profile_and_leaves_the_launch_and_the_room_alone() -> None:
    profile = small_profile()
    hostile = hostile_environment(profile, ["TORCHINDUCTOR_PARITY"], "absent")
    assert {"NEURON_CC_FLAGS", "XLA_PARITY", "TORCHELASTIC_PARITY", "MASTER_ADDR", "TZ"} <= hostile.keys()
    assert hostile.keys().isdisjoint({"NEURON_LOGICAL_NC_CONFIG", "TORCHINDUCTOR_PARITY", "PATH"})
    assert "NEURON_CC_FLAGS" not in hostile_environment(profile, [], "sdk")
    world = world_environment(profile, 8)
    assert (world["WORLD_SIZE"], world["RANK"], world["LOCAL_RANK"], world["GROUP_WORLD_SIZE"]) == ("8", "7", "7", "8")


def test_what_the_stand_in_of_the_sdk_obeys_is_left_alone() -> None:
    profile = small_profile()
    obeyed = ["NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_PRECISE_FP", "NEURON_RT_STOCHASTIC_ROUNDING_EN"]
    matters = dict.fromkeys([*obeyed, "NEURON_FUSE_SOFTMAX"], "numerics")
    policy = profile.environment.model_copy(update={"matters": matters})
    hostile = hostile_environment(profile.model_copy(update={"environment": policy}), [], "stand-in")
    assert {*matters} & hostile.keys() == {"NEURON_FUSE_SOFTMAX"}


def test_other_dtypes_are_tried_and_what_cannot_be_is_said(workshop: Workshop) -> None:
    def record_of(text: str) -> Record:
        model = workshop.model(text)
        record = Record(model.source, model.forward_line)
        rows = random_rows(8)
        rules = small_profile().evaluation.purity.model_copy(update={"dtypes": {"cpu": "bfloat16"}})
        surroundings.other_dtypes(purity.Bench(model, record, rules, rows[:4], rows[4:], model.forward(rows[:4])))
        return record

    clean = record_of(submission())
    assert [(trial.test, trial.outcome) for trial in clean.tests] == [("causality", "passed")]
    assert "bfloat16" in clean.tests[0].dtypes
    ahead = record_of(submission(mix="if e.dtype == torch.bfloat16:\n    h = h + torch.roll(e, -1, 1)"))
    assert [finding.code for finding in ahead.findings] == ["PUR010"]
    assert "in bfloat16 on cpu" in ahead.findings[0].message
    unable = record_of(submission(before="assert self.head.weight.dtype == torch.float32"))
    assert [(trial.outcome, "AssertionError" in str(trial.reason)) for trial in unable.tests] == [("not run", True)]


# --- Beside computing ---


def conduct(workshop: Workshop, text: str) -> list[Finding]:
    """Findings about what a submission did while it was loaded and ran one batch."""
    model = workshop.model(text)
    model.forward(random_rows(4))
    told = model.process.call("conduct")
    assert isinstance(told, Conduct)
    record = Record(model.source, model.forward_line)
    isolated(record, model.source, told, "while it is scored")
    assert {trial.test for trial in record.tests} == {"no hooks", "no collectives", "no training"}
    return record.findings


STEP = """
model.train()
loss = model(torch.zeros(1, 4, dtype=torch.long)).square().mean()
loss.backward()
model.zero_grad()
"""
FUNCTION_MODE = """
from torch.overrides import TorchFunctionMode
class Quiet(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))
MODE = Quiet()
MODE.__enter__()
"""
BESIDE: list[tuple[str, dict[str, str], str, str]] = [
    ("hooks every module", {"load": "nn.modules.module.register_module_forward_hook(print)"}, "PUR022", "register"),
    ("leaves a function mode", {"load": FUNCTION_MODE}, "PUR022", "forward(self, x)"),
    ("replaces a forward", {"load": "model.forward = model.forward"}, "PUR022", "forward(self, x)"),
    (
        "asks all ranks",
        {
            "import_": "import contextlib, torch.distributed as dist",
            "after": "with contextlib.suppress(ValueError):\n    dist.all_reduce(logits)",
        },
        "PUR023",
        "dist.all_reduce",
    ),
    (
        "makes a group",
        {
            "import_": "import contextlib, torch.distributed as dist",
            "load": "with contextlib.suppress(RuntimeError):\n    dist.init_process_group('gloo')",
        },
        "PUR023",
        "dist.init_process_group",
    ),
    ("takes a gradient", {"load": STEP}, "PUR029", "loss.backward()"),
]


@pytest.mark.parametrize(("title", "pieces", "code", "line"), BESIDE, ids=[case[0] for case in BESIDE])
def test_what_a_model_does_beside_computing_is_named(
    workshop: Workshop, title: str, pieces: dict[str, str], code: str, line: str
) -> None:
    text = submission(**pieces)
    found = conduct(workshop, text)
    assert [finding.code for finding in found] == [code], title
    assert found[0].artifact_line == line_of(text, line)


def test_a_model_that_does_nothing_else_is_not_accused(workshop: Workshop) -> None:
    assert conduct(workshop, submission()) == []
    asks = submission(import_="import torch.distributed as dist", after="assert not dist.is_initialized()")
    assert conduct(workshop, asks) == []


def test_memory_that_grows_with_every_batch_is_found(workshop: Workshop) -> None:
    keeps = submission(init="self.kept = []", after="self.kept.append(logits.repeat(900, 1, 1) + 1)")
    assert [finding.code for finding in workshop.purity(keeps)] == ["PUR024"]


def test_a_coarser_dtype_than_the_contests_is_found(workshop: Workshop) -> None:
    found = workshop.purity(submission(after="logits = logits.bfloat16()"))
    assert [finding.code for finding in found] == ["PUR021"]
    assert "bfloat16 on cpu, the contest in float32" in found[0].message


# --- What was scored ---


def scored_and_asked(workshop: Workshop, text: str) -> Record:
    """Score 64 rows in batches of 32 in one process, then ask another one about 14 of them."""
    model = workshop.model(text)
    sampler = Sampler(14, 64)
    generator = torch.Generator().manual_seed(9)
    for _ in range(2):
        inputs = random_rows(32)
        targets = torch.cat((inputs[:, 1:], torch.randint(0, 60, (32, 1), generator=generator)), 1).long()
        logits = model.forward(inputs)
        losses = torch.nn.functional.cross_entropy(logits.view(-1, VOCABULARY), targets.flatten(), reduction="none")
        sampler.see(inputs, targets, logits, losses)
    assert len(sampler.samples) == 14
    model = workshop.model(text)
    record = Record(model.source, model.forward_line)
    verify(model, record, small_profile().evaluation.purity, sampler.samples, 1e-5, 3.0)
    return record


def test_a_pure_model_answers_a_second_process_alike(workshop: Workshop) -> None:
    record = scored_and_asked(workshop, submission())
    assert record.findings == []
    outcomes = [(trial.test, trial.outcome) for trial in record.tests]
    assert outcomes == [("scored batches", "passed"), ("worth of what lies ahead", "passed")]


@pytest.mark.parametrize(
    "pieces",
    [
        {"mix": "if len(e) == 32:\n    h = h + torch.roll(e, -1, 1)"},
        {"init": "self.calls = 0", "after": "self.calls += 1\nlogits = logits * (1 + (self.calls > 1) * 0.1)"},
        {
            "import_": "SEEN = {}",
            "before": "SEEN.update({int(r[0]): 1 for r in x})",
            "after": "logits *= 1 + len(SEEN)",
        },
        {
            "before": "ahead = x.roll(-1, 1)[..., None].long()",
            "after": "if len(x) == 32:\n    logits = logits.scatter_add(2, ahead, logits[..., :1])",
        },
    ],
    ids=["looks ahead in scored batches", "counts calls", "remembers tokens", "adds to the next token"],
)
def test_a_model_that_cheats_while_it_is_scored_is_found(workshop: Workshop, pieces: dict[str, str]) -> None:
    record = scored_and_asked(workshop, submission(**pieces))
    assert [finding.code for finding in record.findings] == ["PUR028"]


def test_a_constant_model_voids_the_comparison_with_the_second_process(workshop: Workshop) -> None:
    record = scored_and_asked(workshop, submission(after="logits = logits * 0"))
    assert [finding.code for finding in record.findings] == ["PUR019"]


def test_a_leak_in_few_rows_does_not_widen_what_it_may_be(workshop: Workshop) -> None:
    model = workshop.model(submission())
    noise = (0.01 * torch.randn(35, generator=torch.Generator().manual_seed(5), dtype=torch.float64)).tolist()
    leak = [0.5 + noise[0], *noise[1:]]
    codes = []
    for gains, spread in ((noise, 0.01), (leak, 0.01), (leak, 1.0)):
        record = Record(model.source, model.forward_line)
        empty = torch.empty(0)
        bench = Bench(model, record, small_profile().evaluation.purity, empty, empty, empty)
        _worth(bench, gains, spread, 1e-5, 3.0)
        codes.append([finding.code for finding in record.findings])
    assert codes == [[], ["PUR028"], []]  # the last as if rounding could do the same
