"""What the observer notes of one rank: updates, losses, hashes, knobs, events, the clock."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from parity_tests.room_programs import KIT, OBSERVER, Alone, line_of, program, run_alone

CONDUCT = """
if step == 0:
    os.environ.get("SOME_KNOB")
    os.environ["SOME_FLAG"] = "1"
    open("outside.txt", "w").close()
    os.makedirs("out", exist_ok=True)
    open("out/inside.txt", "w").close()
    import subprocess
    subprocess.run(["true"])
    import socket
    try:
        socket.create_connection(("127.0.0.1", 9))
    except OSError:
        pass
    torch.save({}, "elsewhere.pt")
    prepare.evaluate_bpb(None)
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return run_alone(tmp_path_factory.mktemp("clean"), program(), census_update=3)


def test_every_micro_batch_has_its_exact_loss(clean: Alone) -> None:
    assert [len(update["losses"]) for update in clean.updates] == [2] * 6
    printed = [line.split("loss ")[1].split()[0] for line in clean.output.splitlines() if line.startswith("step")]
    assert [f"{float.fromhex(update['losses'][-1]):.4f}" for update in clean.updates] == printed


def test_hashes_are_taken_inside_the_window_only(clean: Alone) -> None:
    for update in clean.updates[:2]:
        assert sorted(update["parameter_hashes"]) == ["down.weight", "up.bias", "up.weight"]
        assert sorted(update["gradient_hashes"]) == ["down.weight", "up.bias", "up.weight"]
        assert len(update["batch_hashes"]) == 2
    assert clean.updates[0]["parameter_hashes"] != clean.updates[1]["parameter_hashes"]
    assert clean.updates[0]["batch_hashes"] != clean.updates[1]["batch_hashes"]
    assert all("parameter_hashes" not in update for update in clean.updates[2:])


def test_the_model_and_the_knobs_are_told(clean: Alone) -> None:
    (model,) = clean.by_kind["model"]
    assert model["knobs"] == {"width": 16, "learning_rate": 0.05}
    assert {row["name"]: row["shape"] for row in model["parameters"]} == {
        "up.weight": [16, 8],
        "up.bias": [16],
        "down.weight": [1, 16],
    }
    assert {row["device"] for row in model["parameters"]} == {"cpu"}


def test_the_census_counts_the_operators_of_its_update(clean: Alone) -> None:
    (census,) = clean.by_kind["census"]
    assert census["update"] == 3
    rows = {(row["operator"], row["signature"]): row for row in census["rows"]}
    forward = rows["aten::addmm", "float32[16] float32[4,8] float32[8,16]"]
    assert forward["count"] == 2
    assert forward["site"] == {"file": "train.py", "line": line_of(program(), "return self.down(")}
    backward = [row for row in census["rows"] if row["operator"] == "aten::threshold_backward"]
    assert [row["site"]["line"] for row in backward] == [line_of(program(), "torch.relu(")]  # the forward's line


def test_every_call_is_followed_with_its_line_and_its_value(clean: Alone, tmp_path: Path) -> None:
    assert [line["update"] for line in clean.by_kind["calls"]] == [0, 1, 2, 3]
    again = run_alone(tmp_path / "again", program(), census_update=3)
    assert again.by_kind["calls"][-1]["calls"] == clean.by_kind["calls"][-1]["calls"]
    other = run_alone(tmp_path / "other", program().replace("torch.relu(", "1.5 * torch.relu("), census_update=3)
    here, there = (_calls(run, 0) for run in (clean, other))
    first = next(index for index, (left, right) in enumerate(zip(here, there, strict=False)) if left != right)
    assert there[first][0] == "aten::mul"
    assert here[first][0] != "aten::mul"


def _calls(run: Alone, update: int) -> list[tuple[str, str, str]]:
    line = run.by_kind["calls"][update]
    words = (text.partition(" ") for text in line["calls"])
    kinds = [(kind["operator"], kind["signature"]) for kind in line["kinds"]]
    return [(*kinds[int(number)], value) for number, _, value in words]


def test_conduct_is_told_with_its_line(tmp_path: Path) -> None:
    source = program(CONDUCT)
    seen = run_alone(tmp_path / "run", source)
    expected = [
        ("read-environment", "SOME_KNOB", 'environ.get("SOME_KNOB")'),
        ("set-environment", "SOME_FLAG", 'environ["SOME_FLAG"]'),
        ("write", "outside.txt", 'open("outside.txt"'),
        ("subprocess", "true", 'subprocess.run(["true"])'),
        ("connect", "('127.0.0.1', 9)", "create_connection"),
        ("save", "elsewhere.pt", 'torch.save({}, "elsewhere.pt")'),
        ("evaluate", "evaluate_bpb", "prepare.evaluate_bpb(None)"),
        ("save", "out/final.pt", '"model_config": {}'),
    ]
    for kind, detail, text in expected:
        assert (kind, detail, line_of(source, text)) in seen.events
    kinds = {kind for kind, _, _ in seen.events}
    assert {detail for kind, detail, _ in seen.events if kind == "write"} == {"outside.txt"}
    told = {"import", "read-environment", "set-environment", "write", "subprocess", "connect", "save", "evaluate"}
    assert kinds == told


def test_a_clean_program_shows_nothing_but_its_imports_its_reads_and_its_save(clean: Alone) -> None:
    assert [(kind, detail) for kind, detail, _ in clean.events] == [
        ("import", "prepare"),
        ("read-environment", "RANK"),
        ("save", "out/final.pt"),
    ]


CLOCK = """
print("clock", time.time() - START, time.monotonic(), time.perf_counter_ns(), flush=True)
assert time.clock_gettime(time.CLOCK_MONOTONIC) == time.monotonic() == time.process_time() == time.thread_time()
assert time.clock_gettime_ns(time.CLOCK_REALTIME) == time.time_ns()
if step == 2:
    time.sleep(100)
"""


def test_the_virtual_clock_follows_the_updates_and_the_program_alone(tmp_path: Path) -> None:
    kit = KIT + "\nimport time\nREAL = time.monotonic\ndef kit_time():\n    return time.monotonic()\n"
    source = program(
        CLOCK + 'if step == 0: print("kit", prepare.kit_time() > 2000 or abs(prepare.kit_time() - 1024) > 5)'
    )
    source = source.replace("def main(", "START = time.time()\n\n\ndef main(")
    seen = run_alone(tmp_path / "run", source, kit=kit, seconds_per_update=0.5)
    told = [line.split()[1:] for line in seen.output.splitlines() if line.startswith("clock")]
    assert [float(line[0]) for line in told] == [0.5, 1.0, 1.5, 102.0, 102.5, 103.0]
    assert [float(line[1]) for line in told] == [1024.5, 1025.0, 1025.5, 1126.0, 1126.5, 1127.0]
    assert told[0][2] == "1024500000000"
    assert "kit True" in seen.output  # a machine up for exactly 1024 seconds apart, the kit sees the real clock
    assert seen.exit_code == 0
    real = run_alone(
        tmp_path / "real", source.replace("time.sleep(100)", "pass").replace("assert time", "0 and time"), kit=kit
    )
    assert next(float(line.split()[1]) for line in real.output.splitlines() if line.startswith("clock")) != 0.5


def test_an_update_takes_time_wherever_it_is_measured(tmp_path: Path) -> None:
    """A program divides by the time from before its forward pass to after its step: that must not be zero."""
    source = program().replace(
        "        for _ in range(2):", "        began = time.monotonic()\n        for _ in range(2):"
    )
    source = source.replace("        optimizer.zero_grad()", "        print('took', time.monotonic() - began)")
    seen = run_alone(tmp_path / "run", source, seconds_per_update=0.25)
    assert [line for line in seen.output.splitlines() if line.startswith("took")] == ["took 0.25"] * 6


def test_without_the_kits_boundary_an_update_ends_at_the_next_backward(tmp_path: Path) -> None:
    source = program().replace("        prepare.record_step_boundary(step)\n", "")
    seen = run_alone(tmp_path / "run", source, window=6)
    with_boundary = run_alone(tmp_path / "other", program(), window=6)
    for name in ("losses", "parameter_hashes", "gradient_hashes", "batch_hashes"):
        assert [update[name] for update in seen.updates] == [update[name] for update in with_boundary.updates]


def test_an_optimizer_that_torch_does_not_know_is_followed_by_the_kits_boundary(tmp_path: Path) -> None:
    source = (
        program()
        .replace(
            "        optimizer.step()\n        optimizer.zero_grad()\n",
            "        with torch.no_grad():\n"
            "            for parameter in model.parameters():\n"
            "                parameter -= 0.01 * parameter.grad\n"
            "                parameter.grad = None\n",
        )
        .replace("    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)\n", "")
    )
    seen = run_alone(tmp_path / "run", source, seconds_per_update=0.5)
    assert [len(update["losses"]) for update in seen.updates] == [2] * 6
    assert seen.updates[0]["losses"] != seen.updates[1]["losses"]


def test_the_perturbation_is_seen_through_a_zero_parameter_and_a_normalization(tmp_path: Path) -> None:
    source = (
        program()
        .replace(
            "        self.up = torch.nn.Linear(8, width)\n",
            "        self.bias_of_zeros = torch.nn.Parameter(torch.zeros(width))\n"
            "        self.first = torch.nn.Linear(8, width, bias=False)\n",
        )
        .replace("torch.relu(self.up(x))", "torch.nn.functional.rms_norm(self.first(x), (16,)) + self.bias_of_zeros")
    )
    assert min(("bias_of_zeros", "down.weight", "first.weight")) == "bias_of_zeros"
    source = source.replace("self.down", "self.unembed")
    plain = run_alone(tmp_path / "plain", source)
    perturbed = run_alone(tmp_path / "perturbed", source, perturb=True)
    changed = {
        name: plain.updates[0]["parameter_hashes"][name] != perturbed.updates[0]["parameter_hashes"][name]
        for name in plain.updates[0]["parameter_hashes"]
    }
    assert changed == {"bias_of_zeros": False, "first.weight": True, "unembed.weight": False}
    losses = [[float.fromhex(run.updates[1]["losses"][0]) for run in (plain, perturbed)]]
    assert abs(losses[0][0] - losses[0][1]) > 1e-4


MASTERS = """class Rounded(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["master"] = parameter.detach().float()
            parameter.data = parameter.data.to(torch.bfloat16)

    @torch.no_grad()
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["master"].sub_(parameter.grad.float(), alpha=self.param_groups[0]["lr"])
            parameter.copy_(self.state[parameter]["master"])


def save("""


def test_the_perturbation_is_seen_where_the_optimizer_steps_on_wider_copies(tmp_path: Path) -> None:
    source = program().replace("def save(", MASTERS).replace("torch.optim.AdamW(", "Rounded(")
    source = source.replace("model(x) - y", "model(x.to(torch.bfloat16)) - y")
    plain = run_alone(tmp_path / "plain", source)
    perturbed = run_alone(tmp_path / "perturbed", source, perturb=True)
    for update in (0, 1):
        hashes = [run.updates[update]["parameter_hashes"]["down.weight"] for run in (plain, perturbed)]
        assert hashes[0] != hashes[1]
    assert plain.updates[1]["losses"] != perturbed.updates[1]["losses"]


def test_an_uncaught_exception_is_told_with_the_programs_line(tmp_path: Path) -> None:
    source = program('if step == 3: raise ValueError("no luck")')
    seen = run_alone(tmp_path / "run", source)
    (problem,) = seen.by_kind["problem"]
    assert (problem["type"], problem["message"]) == ("ValueError", "no luck")
    assert problem["site"] == {"file": "train.py", "line": line_of(source, "no luck")}
    assert len(seen.updates) == 4
    assert seen.by_kind["end"]


def test_an_import_of_a_missing_module_names_the_importing_line(tmp_path: Path) -> None:
    source = program().replace("import torch.distributed as dist", "import torch.distributed as dist\nimport not_there")
    (problem,) = run_alone(tmp_path / "run", source).by_kind["problem"]
    assert (problem["type"], problem["module"]) == ("ModuleNotFoundError", "not_there")
    assert problem["site"] == {"file": "train.py", "line": line_of(source, "import not_there")}


def test_children_of_a_rank_write_nothing_into_its_journal(tmp_path: Path) -> None:
    hook = """
if step == 0:
    import subprocess, sys
    subprocess.run([sys.executable, "-c", "import os; os.environ.get('X')"])
    if os.fork() == 0:
        os.environ["FROM_CHILD"] = "1"
        os._exit(0)
    os.wait()
"""
    seen = run_alone(tmp_path / "run", program(hook))
    assert len(seen.by_kind["start"]) == len(seen.by_kind["end"]) == 1
    assert all(detail != "FROM_CHILD" for _, detail, _ in seen.events)


def test_a_nan_loss_is_told_as_it_is(tmp_path: Path) -> None:
    source = program().replace("loss.backward()", "loss = loss * float('nan')\n            loss.backward()")
    assert math.isnan(float.fromhex(run_alone(tmp_path / "run", source).updates[0]["losses"][0]))


KERNELS = '''"""A stand-in for the stand-in: only what the observer needs of nki."""


class Kernel:
    def __init__(self, func):
        self.func = func
        self.__name__ = func.__name__

    def __call__(self, *args, **kwargs):
        return self.func(*args, **kwargs)


def jit(func):
    return Kernel(func)
'''


def test_kernel_launches_are_counted_once_each_nested_ones_not(tmp_path: Path) -> None:
    kernels = "\nimport nki\n@nki.jit\ndef inner(x): return x\n@nki.jit\ndef outer(x): return inner(inner(x))\n"
    source = program("outer(torch.zeros(2, 3))\nif step == 1: inner(torch.zeros(4, dtype=torch.bfloat16))").replace(
        "@dataclass(frozen=True)", f"{kernels}\n\n@dataclass(frozen=True)", 1
    )
    (tmp_path / "kit").mkdir()
    seen = _run_with_nki(tmp_path / "run", source)
    # The hook runs after the boundary: its launches belong to the next update.
    counts = [{row["kernel"]: row["count"] for row in update["launches"]} for update in seen.updates]
    assert counts == [{}, {"outer": 1}, {"inner": 1, "outer": 1}, {"outer": 1}, {"outer": 1}, {"outer": 1}]
    (outer,) = seen.updates[1]["launches"]
    assert outer["shapes"] == ["float32[2,3]"]
    assert outer["site"] == {"file": "train.py", "line": line_of(source, "def outer") - 1}
    assert seen.updates[2]["launches"][0]["shapes"] == ["bfloat16[4]"]


def test_a_launch_behind_the_step_is_not_the_forward_s(tmp_path: Path) -> None:
    source = program("inner(torch.zeros(4))").replace("optimizer.zero_grad()", "inner(torch.zeros(4, 2))", 1)
    kernel = "import nki\n@nki.jit\ndef inner(x): return x\n\n@dataclass(frozen=True)"
    seen = _run_with_nki(tmp_path / "run", source.replace("@dataclass(frozen=True)", kernel, 1))
    counts = [[(row["count"], row["aside"]) for row in update["launches"]] for update in seen.updates]
    assert counts[:3] == [[(1, 1)], [(2, 1)], [(2, 1)]]


def test_first_uses_are_told_with_what_they_are_specialized_for_and_the_lines_that_led_there(tmp_path: Path) -> None:
    hook = "if step < 3: scale(torch.zeros(2, 3), 0.5)\nif step > 2: scale(torch.zeros(2, 3), float(step), eps=1)"
    source = program(hook).replace(
        "@dataclass(frozen=True)",
        "import nki\n@nki.jit\ndef scale(x, by, eps=0): return x\n\n@dataclass(frozen=True)",
        1,
    )
    seen = _run_with_nki(tmp_path / "run", source)
    uses = [line["use"] for line in seen.by_kind["first-use"]]
    assert [(use["what"], use["name"], use["signature"], use["update"]) for use in uses] == [
        ("batch", "batch", "float32[4,8] float32[4,1]", 0),
        ("kernel", "scale", "float32[2,3] 0.5", 1),
        ("kernel", "scale", "float32[2,3] 3.0 eps=1", 4),
        ("kernel", "scale", "float32[2,3] 4.0 eps=1", 5),
        ("kernel", "scale", "float32[2,3] 5.0 eps=1", 6),  # after the last update
    ]
    assert uses[2]["site"] == {"file": "train.py", "line": line_of(source, "if step > 2")}
    lines = source.splitlines()
    assert [lines[line["line"] - 1].strip() for line in uses[2]["callers"]] == ["HOOK(step, rank)", "main()"]


def test_instructions_that_write_at_run_time_addresses_are_followed_by_value(tmp_path: Path) -> None:
    """A scatter-add that leaves a row out, rows at a scalar's place: another value shows in each."""
    kernel = f"""
import sys
sys.path.insert(0, {str(OBSERVER.parents[1] / "standins" / "neuron")!r})
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

@nki.jit
def places(table, rows, index):
    chosen = nl.ndarray(shape=(2, 1), dtype=nl.int32, buffer=nl.sbuf)
    tile = nl.ndarray(shape=(2, 3), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=chosen, src=index)
    nisa.dma_copy(dst=tile, src=rows)
    there = table.ap(pattern=[[3, 2], [1, 3]], offset=0, vector_offset=chosen)
    nisa.dma_compute(dst=there, srcs=[there, tile], reduce_op=nl.add, oob_mode=nisa.oob_mode.skip)
    nisa.dma_copy(dst=table.ap(pattern=[[3, 1], [1, 3]], scalar_offset=chosen[0:1, 0:1]), src=tile[1:2, 0:3])
    return table

"""
    calls = []
    for number, value in enumerate((1.0, 2.0)):
        hook = (
            f"places(np.ones((4, 3), np.float32), np.full((2, 3), {value}, np.float32), np.array([[1], [9]], np.int32))"
        )
        source = program(hook).replace("@dataclass(frozen=True)", f"{kernel}\n@dataclass(frozen=True)", 1)
        seen = run_alone(tmp_path / str(number), source, census_update=1)
        assert seen.exit_code == 0, seen.output
        found = [call for call in _calls(seen, 1) if call[0].startswith("nki.isa::")]
        names = [name.removeprefix("nki.isa::") for name, _, _ in found]
        assert names == ["dma_copy", "dma_copy", "dma_compute", "dma_copy"]
        calls.append(found)
    differ = [one != other for one, other in zip(*calls, strict=True)]
    assert differ == [False, True, True, True]


def _run_with_nki(directory: Path, source: str) -> Alone:
    """The program finds `nki` beside itself."""
    (directory / "work").mkdir(parents=True)
    (directory / "work" / "nki.py").write_text(KERNELS)
    return run_alone(directory, source)


def test_the_optimizer_plan_says_what_each_optimizer_holds_changes_and_with_which_values(tmp_path: Path) -> None:
    source = program('optimizer = OPTIMIZERS[0]; optimizer.param_groups[0]["lr"] = 0.05 / (step + 2)')
    source = source.replace(
        "optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)",
        'optimizer = Sgd([{"params": [model.up.weight]}, {"params": [model.up.bias, model.down.weight], "lr": 0.0}])\n'
        "    OPTIMIZERS.append(optimizer)",
    )
    source = source.replace(
        "def save(",
        "OPTIMIZERS = []\n\n\nclass Sgd(torch.optim.SGD):\n    def step(self):\n        super().step()\n\n\ndef save(",
    )
    seen = run_alone(tmp_path / "run", source)
    assert seen.exit_code == 0, seen.output
    (line,) = seen.by_kind["optimizers"]
    (row,) = line["plan"]
    assert (row["name"], row["algorithm"]) == ("Sgd", "Sgd")
    assert row["site"]["line"] == line_of(source, "def step(self)")
    assert [(one["name"], one["group"], one["stepped"]) for one in row["parameters"]] == [
        ("up.weight", 0, True),
        ("up.bias", 1, False),
        ("down.weight", 1, False),
    ]
    first, second = (update["groups"] for update in seen.updates[:2])
    assert float.fromhex(first["Sgd.0"]["lr"]) == 0.001
    assert float.fromhex(second["Sgd.0"]["lr"]) == 0.025
    assert first["Sgd.1"]["lr"] == (0.0).hex()
    assert first["Sgd.0"]["nesterov"] is False
    assert "groups" not in seen.updates[2]
    (model,) = seen.by_kind["model"]
    initial = {row["name"]: row["initial_hash"] for row in model["parameters"]}
    after = seen.updates[1]["parameter_hashes"]
    assert [name for name in initial if initial[name] != after[name]] == ["up.weight"]
