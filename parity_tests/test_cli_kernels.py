"""`scorer kernels`: one update of a submission in the clean room, and what each of its kernel launches takes."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from scorer.artifact import Artifact
from scorer.cli.kernels import app
from scorer.compare.accounts import KernelReport, conclude, in_time
from scorer.contest import load
from scorer.findings import finding
from scorer.report.kernels import in_bytes, kernels_page, print_kernels
from scorer.room import receipts
from scorer.room.accounts import Exchanged, OrderCheck, RankAccounts
from scorer.room.receipts import Site

TINY = Path(__file__).parent / "cli_cases" / "tiny.py"
LAUNCH = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=1 train.py"
IMPORTS = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\nimport torch_neuronx"
KERNEL = """
@nki.jit
def doubled(x):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    if nl.program_id(0) == 0:
        for first in range(0, rows, 128):
            xt = nl.ndarray((128, width), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=xt, src=x[first : first + 128, 0:width])
            nisa.tensor_scalar(dst=xt, data=xt, op0=nl.multiply, operand0=2.0)
            nisa.dma_copy(dst=out[first : first + 128, 0:width], src=xt)
    return out


def main() -> None:"""
LAUNCHES = """    for step in range(UPDATES):
        for rows in (128, 256, 256):
            torch_neuronx.wrap_nki(doubled)[2](torch.ones(rows, 512, device=device))
"""


def program() -> str:
    """The sound file, with three launches of a kernel in each update."""
    text = TINY.read_text("utf-8")
    for old, new in (
        ("import torch_neuronx", IMPORTS),
        ("\ndef main() -> None:", KERNEL),
        ("    for step in range(UPDATES):\n", LAUNCHES),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    return text


def scorer(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["kernels", *map(str, arguments)])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    directory = tmp_path_factory.mktemp("kernels")
    (directory / "train.py").write_text(program(), "utf-8")
    return scorer(directory / "train.py", "--launch", LAUNCH, "-o", directory / "out"), directory / "out"


def report_of(out: Path) -> KernelReport:
    return KernelReport.model_validate_json((out / "kernels.json").read_bytes())


def test_one_update_is_told_launch_by_launch(told: tuple[Result, Path]) -> None:
    result, out = told
    assert result.exit_code == 0, result.output
    report = report_of(out)
    assert [(kernel.kernel, kernel.cores, kernel.signature, kernel.launches) for kernel in report.kernels] == [
        ("doubled", 2, "float32[256,512]", 2),
        ("doubled", 2, "float32[128,512]", 1),
    ]
    large, small = report.kernels
    assert (large.instructions["dma"], small.instructions["dma"], large.bound) == (4, 2, "dma")
    assert large.microseconds == pytest.approx(2 * 256 * 512 * 4 / 368e9 * 1e6)
    assert report.microseconds == pytest.approx(2 * large.microseconds + small.microseconds)
    assert (small.sbuf_peak, large.sbuf_peak) == (2048, 4096)
    assert (large.order.outcome, large.order.moved > 0, small.order.moved) == ("same", True, 0)
    text = program().splitlines()
    assert large.site is not None
    assert text[large.site.line].startswith("def doubled")
    first = large.lines[0]
    assert first.site is not None
    assert first.instruction in text[first.site.line - 1]


def test_the_table_says_that_times_are_estimates_and_is_plain_in_a_pipe(told: tuple[Result, Path]) -> None:
    result, _ = told
    assert "an estimate" in result.output
    assert "Times are estimates" in result.output
    assert "\x1b" not in result.output
    for word in ("doubled[2]", "fp32[256,512]", "DMA", "update"):
        assert word in result.output


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_draws_each_kernels_life(told: tuple[Result, Path]) -> None:
    _, out = told
    report = report_of(out)
    text = (out / "kernels.html").read_text("utf-8")
    assert text == kernels_page(report)  # the same report, the same bytes
    page = Page(text)
    assert sum(tag == "svg" and given.get("class") == "life" for tag, given in page.tags) == len(report.kernels)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [given for tag, given in page.tags if "src" in given or str(given.get("href", "#"))[0] not in "#d"]
    assert "Nothing was measured" in page.text


def test_a_kernels_shape_is_seen_however_little_it_holds(told: tuple[Result, Path]) -> None:
    """The chart's upper edge is said, and fits."""
    report = report_of(told[1])
    assert "10% of the limit" in Page(kernels_page(report)).text
    assert report.limits is not None
    (half,) = (report.kernels[0].model_copy(update={"sbuf_peak": report.limits.sbuf_bytes // 3}),)
    assert "50% of the limit" in Page(kernels_page(report.model_copy(update={"kernels": [half]}))).text


def test_a_kernel_that_is_right_in_program_order_only_fails_with_both_lines(told: tuple[Result, Path]) -> None:
    report = report_of(told[1])
    pair = [Exchanged(instruction="dma_copy", site=Site(file="train.py", line=line)) for line in (30, 31)]
    order = OrderCheck(outcome="differs", told="changes result 0", over="'x' and 'y' lie over it", exchanged=pair)
    assert report.rank is not None
    assert report.limits is not None
    accounts = RankAccounts(
        rank=report.rank, limits=report.limits, kernels=[report.kernels[0].model_copy(update={"order": order})]
    )
    receipt = receipts.read(told[1] / "receipt.json")
    found = conclude(Artifact.from_file(TINY, LAUNCH), LAUNCH, load("embedded"), receipt, [accounts])
    assert (found.verdict, [(each.code, str(each.place)) for each in found.findings]) == (
        "fail",
        [("KRN006", "tiny.py:31")],
    )
    assert "nki.isa.dma_copy (tiny.py:30)" in found.reason
    assert "Right in program order only" in Page(kernels_page(found)).text


def test_names_of_a_program_cannot_write_into_the_page(told: tuple[Result, Path]) -> None:
    report = report_of(told[1])
    hostile = report.kernels[0].model_copy(update={"kernel": "<script>x</script>", "signature": "[red]x[/]"})
    changed = report.model_copy(update={"kernels": [hostile], "reason": "[bold]<b>"})
    assert "script" not in {tag for tag, _ in Page(kernels_page(changed)).tags}
    console = Console(width=120, record=True, file=io.StringIO())
    print_kernels(changed, console)
    assert "[red]x[/]" in console.export_text()


def test_a_run_without_launches_has_nothing_to_tell_of_and_a_failed_one_fails(told: tuple[Result, Path]) -> None:
    receipt = receipts.read(told[1] / "receipt.json")
    submission = Artifact.from_file(TINY, LAUNCH)
    empty = conclude(submission, LAUNCH, load("embedded"), receipt, [])
    assert (empty.verdict, empty.launches, empty.kernels) == ("inconclusive", 0, [])
    assert "launches, an update" not in Page(kernels_page(empty)).text
    found = finding("RUN001", "artifact lane: rank 0: ValueError: no").model_dump(mode="json")
    failed = receipt.model_copy(update={"outcome": receipts.Outcome.FAILED, "observed_findings": [found]})
    assert conclude(submission, LAUNCH, load("embedded"), failed, []).verdict == "fail"


@pytest.mark.parametrize(
    ("value", "words"), [(0.25, "0.25 µs"), (12.34, "12.3 µs"), (4560.0, "4.56 ms"), (2e6, "2.00 s")]
)
def test_times_have_three_digits(value: float, words: str) -> None:
    assert in_time(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(12, "12 B"), (1024, "1.0 KiB"), (212_984, "208 KiB"), (3 << 20, "3.0 MiB")]
)
def test_bytes_are_in_binary_units(value: int, words: str) -> None:
    assert in_bytes(value) == words
