"""Each impurity is found by its own check and named at its line; a clean model raises nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parity_tests.trusted_samples import SCORED_ROWS, Workshop, line_of, random_rows, submission
from scorer.trusted.model import SubmissionError
from scorer.trusted.process import ModelProcessError


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with Workshop(tmp_path_factory.mktemp("workshop")) as shop:
        yield shop


def test_a_clean_model_raises_nothing(workshop: Workshop) -> None:
    assert workshop.purity(submission()) == []


BUFFER = 'self.register_buffer("seen", torch.zeros(61))'
ADDRESS = "key = (x.data_ptr(), x.shape)\nif key in self.cache:\n    return self.cache[key]"

# title, pieces, code, text on the line it must name, words of the message
IMPURE: list[tuple[str, dict[str, str], str, str, str]] = [
    ("sees one step ahead", {"mix": "h = h + torch.roll(e, -1, 1)"}, "PUR010", "forward(self, e)", "mix"),
    ("sees a little ahead", {"mix": "h = h + 1e-3 * torch.roll(e, -1, 1)"}, "PUR010", "forward(self, e)", "mix"),
    ("normalises over time", {"after": "logits = logits - logits.mean(1, True)"}, "PUR010", "forward(self, x)", "from"),
    ("sees the last token", {"after": "logits = logits + 0.1 * logits[:, -1:]"}, "PUR010", "forward(self, x)", "from"),
    (
        "scores better the second time",
        {"init": BUFFER, "after": "self.seen += 1\nlogits = logits * (1 + 1e-4 * self.seen)"},
        "PUR011",
        "register_buffer",
        "seen",
    ),
    ("updates a buffer", {"init": BUFFER, "after": "self.seen += 1"}, "PUR011", "register_buffer", "seen"),
    (
        "counts its calls",
        {"init": "self.calls = 0", "after": "self.calls = self.calls + 1\nlogits = logits + 0.01 * self.calls"},
        "PUR011",
        "self.calls = self.calls + 1",
        "calls",
    ),
    (
        "answers from a cache by the input's address",
        {"init": "self.cache = {}", "before": ADDRESS, "after": "self.cache[key] = logits"},
        "PUR011",
        "self.cache = {}",
        "cache",
    ),
    ("subtracts the batch", {"after": "logits = logits - logits.mean(0) / 2"}, "PUR012", "forward(self, x)", "neighb"),
    ("normalises over the batch", {"mix": "h = h / h.std((0, 2), keepdim=True)"}, "PUR012", "forward(self, e)", "mix"),
    ("knows its batch size", {"after": "logits = logits * (1 + 1e-2 / len(x))"}, "PUR012", "forward(self, x)", "alone"),
    (
        "depends on the place in the batch",
        {"after": "logits = logits + torch.arange(len(x)).view(-1, 1, 1) * logits / 100"},
        "PUR012",
        "forward(self, x)",
        "position",
    ),
    (
        "mixes rows in large batches only",
        {"mix": "if e.size(0) > 8:\n    h = h - 0.05 * h.mean(0, keepdim=True)"},
        "PUR012",
        "forward(self, e)",
        "in a batch of 32 than alone, first in mix",
    ),
    (
        "counts large batches only",
        {
            "init": "self.calls = 0",
            "after": "if len(x) > 8:\n    self.calls = self.calls + 1\n    logits = logits + 0.01 * self.calls",
        },
        "PUR011",
        "self.calls = self.calls + 1",
        "in a batch of 32",
    ),
    (
        "updates a buffer in large batches only",
        {"init": BUFFER, "after": "if len(x) > 8:\n    self.seen += 1"},
        "PUR011",
        "register_buffer",
        "in a batch of 32",
    ),
    (
        "branches on gradients",
        {"after": "if torch.is_grad_enabled():\n    logits = logits * 1.5"},
        "PUR014",
        "is_grad_enabled",
        "with gradients enabled",
    ),
    (
        "branches on gradients in training",
        {"mix": "h = h * (1 + (torch.is_grad_enabled() and self.training))"},
        "PUR014",
        "forward(self, e)",
        "in training mode with gradients enabled, first in mix",
    ),
    ("edits its input", {"after": "x[:, 0] = 0"}, "PUR013", "forward(self, x)", "changed the batch"),
    ("branches on training", {"after": "logits = logits * (1 + self.training)"}, "PUR014", "self.training", "training"),
    (
        "drops out",
        {"init": "self.drop = nn.Dropout(0.2)", "after": "logits = self.drop(logits)"},
        "PUR014",
        "forward(self, x)",
        "drop",
    ),
    ("fails in training", {"after": "assert not self.training"}, "PUR014", "assert not", "AssertionError"),
    ("says always the same", {"after": "logits = logits * 0 + self.head.bias"}, "PUR019", "forward(self, x)", "void"),
    ("takes one length only", {"before": "assert x.shape[1] == 16"}, "PUR020", "assert x.shape[1]", "AssertionError"),
]


@pytest.mark.parametrize(("title", "pieces", "code", "line", "words"), IMPURE, ids=[case[0] for case in IMPURE])
def test_an_impure_model_is_named(
    workshop: Workshop, title: str, pieces: dict[str, str], code: str, line: str, words: str
) -> None:
    text = submission(**pieces)
    found = {finding.code: finding for finding in workshop.purity(text)}
    assert list(found) == [code], f"{title}: found {list(found)}"
    assert found[code].artifact_line == line_of(text, line)
    assert words in found[code].message


HALF = "return (h * self.gain).bfloat16()"
LENGTH_TELLS = "if x.shape[1] < 16:\n    logits = logits * (1 + {})"


@pytest.mark.parametrize(
    ("pieces", "codes"),
    [
        ({"mix": HALF}, []),
        ({"mix": HALF, "after": LENGTH_TELLS.format("2**-9")}, []),
        ({"mix": HALF, "after": LENGTH_TELLS.format("2**-6")}, ["PUR020"]),
        ({"after": LENGTH_TELLS.format("2**-9")}, ["PUR020"]),
        ({"mix": f"h = h + 1e-3 * torch.roll(e, -1, 1)\n{HALF}"}, ["PUR010"]),
    ],
    ids=["as it is", "half a rounding", "four roundings", "no such activations", "the same instructions"],
)
def test_activations_loosen_what_another_order_of_sums_may_change(
    workshop: Workshop, pieces: dict[str, str], codes: list[str]
) -> None:
    assert [finding.code for finding in workshop.purity(submission(**pieces))] == codes


def test_a_model_that_looks_ahead_and_aside_is_told_both(workshop: Workshop) -> None:
    text = submission(mix="h = h + torch.roll(e, -1, 1)", after="logits = logits - logits.mean(0) / 2")
    found = workshop.purity(text)
    assert [finding.code for finding in found] == ["PUR012", "PUR010"]
    assert found[1].artifact_line == line_of(text, "forward(self, e)")


def test_logits_that_rule_tokens_out_as_far_as_floats_go_are_fine(workshop: Workshop) -> None:
    assert workshop.purity(submission(after="logits[:, :, 60] = torch.finfo(torch.float32).min")) == []


def test_a_scored_batch_of_equal_rows_proves_nothing(workshop: Workshop) -> None:
    equal = random_rows(1).expand(SCORED_ROWS, -1)
    found = workshop.tested(submission(), equal).findings
    assert [finding.code for finding in found] == ["PUR019"]
    assert "in a batch of 32" in found[0].message


# title, pieces, words of the message
USELESS: list[tuple[str, dict[str, str], str]] = [
    ("NaN at one position", {"after": "logits[:, 3, 5] = float('nan')"}, "position 3, token 5 is not finite"),
    ("as far apart as can be", {"after": "logits = torch.where(logits > 0, 3e38, -3e38)"}, "would be infinite"),
    ("another shape", {"after": "logits = logits[:, :, :60]"}, "expected [8, 16, 61]"),
    ("the last position only", {"after": "logits = logits[:, -1:]"}, "expected [8, 16, 61]"),
    ("double precision", {"after": "logits = logits.double()"}, "float64"),
    ("whole numbers", {"after": "logits = logits.long()"}, "int64"),
    ("a tuple", {"after": "logits = (logits, None)"}, "tuple"),
    ("a subclass", {"after": "logits = logits.as_subclass(nn.Parameter)"}, "exactly a torch.Tensor"),
    ("an exception", {"after": "raise ValueError('not today')"}, "ValueError"),
    ("the end of the interpreter", {"after": "raise SystemExit(0)"}, "SystemExit"),
]


@pytest.mark.parametrize(("title", "pieces", "words"), USELESS, ids=[case[0] for case in USELESS])
def test_logits_that_are_none_end_the_scoring(
    workshop: Workshop, title: str, pieces: dict[str, str], words: str
) -> None:
    with pytest.raises(SubmissionError) as raised:
        workshop.purity(submission(**pieces))
    assert raised.value.finding.code == "PUR006"
    assert words in raised.value.finding.message


FLOOD = """
for fd in range(3, 32):
    try:
        os.write(fd, b'{"ok": true, "exact": true}\\n')
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ({"import_": "import os", "after": "os._exit(0)"}, "died"),
        ({"import_": "import time", "after": "while True:\n    time.sleep(1)"}, "timed out"),
        ({"import_": "import os", "after": FLOOD}, "channel"),
    ],
    ids=["ends the process", "hangs", "writes to every descriptor"],
)
def test_a_process_that_breaks_the_protocol_is_noticed(tmp_path: Path, pieces: dict[str, str], kind: str) -> None:
    with Workshop(tmp_path) as workshop:
        model = workshop.model(submission(**pieces))
        model.process.seconds = 5.0
        with pytest.raises(ModelProcessError) as raised:
            model.forward(random_rows(8))
    assert raised.value.kind == kind


def test_what_a_forward_prints_is_not_the_channel(workshop: Workshop) -> None:
    text = submission(import_="import sys", after="print('{}')\nsys.stderr.write('{}')")
    assert workshop.purity(text) == []


def test_logits_that_are_not_written_are_not_taken_for_an_answer(workshop: Workshop) -> None:
    model = workshop.model(submission())
    rows = random_rows(8)
    assert bool(model.forward(rows).isfinite().all())
    for dtype in (None, "float32"):
        for slot in (0, 1):
            model.process.poison(slot, rows.numel(), dtype)
            assert bool(model.process.logits(slot, [8, 16, 61], "float32").isnan().all())
