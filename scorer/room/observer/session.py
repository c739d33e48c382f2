"""What one rank's observer knows, update by update.

An update closes at the first of: the kit's `record_step_boundary`, the next backward, a save, the program's end;
provided that an optimizer stepped since the last one (or, for a program whose optimizer torch does not know, that a
backward ran and the kit's boundary was called). What a program does between its last optimizer step and a closing
backward (the forward pass that led there) belongs to the next update.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from . import knobs, values
from .calls import Followed
from .census import Census
from .firsts import FirstUses
from .flame import BACKWARD, DATA, OPTIMIZER, Flame
from .hashing import dtype_name, signature, specialization, tensor_hash
from .journal import Journal
from .optimizers import Optimizers
from .program import Program
from .settings import Settings
from .turns import CLOCKS, STOP, Turns

PERTURBATION = 1 + 2**-6
WAIT_FOR_RANKS_SECONDS = 60.0

real_monotonic = time.monotonic  # before the clock is replaced
real_sleep = time.sleep


Launches = dict[str, dict[str, Any]]  # kernel name -> a row of receipts.KernelLaunch, its shapes a set


class Passing(Protocol):
    """A clock on which time passes with what the program does."""

    def ticked(self) -> None:
        """An update's first optimizer step has been made."""

    def saved(self) -> None:
        """A file has been saved."""

    def evaluated(self) -> None:
        """The kit has evaluated a model."""

    def is_over(self) -> bool:
        """Whether the run is to be ended."""


class Session:
    """The state of observation in this process. The hooks report to it; it writes the journal."""

    def __init__(self, settings: Settings, journal: Journal, program: Program, turns: Turns | None = None) -> None:
        self.settings = settings
        self.journal = journal
        self.program = program
        self.torch: Any = None
        self.in_backward = self.in_step = False
        self.backward_frame: FrameType | None = None  # the program's, that called the backward which runs
        self.busy = False  # our own tensor operations are running: the census does not count them
        self.updates_stepped = 0
        self.clock: Passing | None = None  # a scripted one
        self._update = 0
        self._has_stepped = False
        self._has_backward = False
        self._losses: list[Any] = []
        self._firsts = FirstUses(journal, program)
        self._launches: Launches = {}
        self._batches: list[str] = []
        self._launches_after_step: Launches = {}
        self._batches_after_step: list[str] = []
        self._gradients: dict[str, str] = {}
        self._named: dict[str, Any] | None = None  # the model's parameters, known from the first optimizer step on
        self._names: dict[int, str] = {}
        self._optimizers: Optimizers | None = None
        self._census: Census | None = None  # a timed one
        self._followed: Followed | None = None
        self._flame: Flame | None = None  # of the update that is profiled
        self._turns = turns
        self._closed_at = real_monotonic()
        self._last_seconds = 0.0  # of the update closed last
        self._seconds = 0.0
        self._is_training = self._is_spending = False

    # -- the process ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Note how the process starts, and be there when it ends."""
        self.journal.write(
            "start",
            rank=int(os.environ["RANK"]),
            world_size=int(os.environ.get("WORLD_SIZE", "1")),
            python=sys.version.split()[0],
            argv=sys.orig_argv[1:],
            environment=dict(os.environ),
        )
        atexit.register(self.end)  # registered first: runs after the program's own handlers

    def end(self) -> None:
        """Close the last update and note how the process ended."""
        self.close_update()
        if self._followed is not None:  # the run ends before the update that is counted: what came after its last one
            self.journal.write("calls", update=self._update, **self._followed.take()[1])
        self._note_optimizers()
        error: BaseException | None = getattr(sys, "last_value", None)  # set by the interpreter for an uncaught error
        if error is not None:
            self.journal.write(
                "problem",
                type=type(error).__name__,
                message=str(error),
                module=getattr(error, "name", None) if isinstance(error, ImportError) else None,
                site=self.program.site_of_error(error.__traceback__),
            )
        self._note_end()

    # -- what the hooks report -----------------------------------------------------------------------------------

    def fetching(self) -> None:
        """The kit's loader is asked for a batch."""
        if self._flame is not None:
            self._flame.enter(DATA, sys._getframe(1))

    def batch(self, batch: Any) -> None:
        """The kit's loader is about to yield `batch`."""
        self._leave(DATA)
        self._note_training()
        tensors = [item for item in batch if hasattr(item, "detach")]
        self._firsts.note("batch", "batch", signature(tensors), self._update)
        if self._in_window:
            with self.working():
                hashes = "+".join(tensor_hash(self.torch, tensor) for tensor in tensors)
                (self._batches_after_step if self._has_stepped else self._batches).append(hashes)

    def loss(self, tensors: Any) -> None:
        """A backward is about to run from `tensors`."""
        self._note_training()
        if self._has_stepped:
            launches, self._launches_after_step = self._launches_after_step, {}
            batches, self._batches_after_step = self._batches_after_step, []
            self.close_update()
            self._launches, self._batches = launches, batches
        self._has_backward = True
        with self.working():
            roots = tensors if isinstance(tensors, list | tuple) else [tensors]
            # Kept as tensors until the update's end: reading one now would wait for the device.
            self._losses += [root.detach() for root in roots if root.numel() == 1]

    @contextmanager
    def backward(self, frame: FrameType | None) -> Iterator[None]:
        """A backward pass that `frame` calls."""
        self.in_backward, self.backward_frame = True, self.program.frame(frame)
        if self._flame is not None:
            self._flame.enter(BACKWARD, frame)
        try:
            yield
        finally:
            self._leave(BACKWARD)
            self.in_backward, self.backward_frame = False, None

    def stepping(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        if self.busy:
            return
        self.in_step = True
        with self.working():
            if self._named is None:
                self._find_model(optimizer)
            if self._in_window:
                self._hash_gradients(optimizer)
                if self._optimizers is None:
                    self._optimizers = Optimizers(self.torch, self.program)
                self._optimizers.before(optimizer)
        if self._flame is not None:
            self._flame.enter(OPTIMIZER, sys._getframe(1))

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped: what came before belongs to this update, whatever closes it."""
        self._leave(OPTIMIZER)
        self.in_step = False
        if self._optimizers is not None and self._in_window:
            with self.working():
                self._optimizers.after(optimizer)
        self._gather()
        if not self._has_stepped:
            self._has_stepped = True
            self._tick()

    def boundary(self) -> None:
        """The kit was told that a step ended."""
        if self._has_backward:
            self._has_stepped = True
            self._tick()
            self.close_update()

    def saving(self, target: Any) -> None:
        """torch.save is about to write to `target`."""
        self.close_update()
        name = target if isinstance(target, str | bytes | os.PathLike) else getattr(target, "name", None)
        detail = "<buffer>"
        if isinstance(name, str | bytes | os.PathLike):
            detail = os.path.abspath(os.fsdecode(name))  # noqa: PTH100
            if detail.startswith(self.settings.work + "/"):
                detail = detail[len(self.settings.work) + 1 :]
        self.journal.event("save", detail, self.program.site(sys._getframe(2)))

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Time that goes into a save or an evaluation, and into the update that closes after it."""
        began, update, outermost = real_monotonic(), self._update, not self._is_spending
        self._is_spending = True
        try:
            yield
        finally:
            if outermost:
                self._is_spending = False
                self.journal.write("span", what=what, began=began, update=update)

    def launch(self, kernel: Any, args: Any, kwargs: Any) -> None:
        """A kernel has run."""
        started = real_monotonic()
        function = getattr(kernel, "func", kernel)
        code = getattr(function, "__code__", None)
        name = str(getattr(function, "__name__", type(kernel).__name__))
        launches = self._launches_after_step if self._has_stepped else self._launches
        row = launches.get(name)
        if row is None:
            place = None
            if code is not None and (file := self.program.relative(code.co_filename)) is not None:
                place = {"file": file, "line": code.co_firstlineno}
            row = launches[name] = {"kernel": name, "count": 0, "aside": 0, "shapes": set(), "site": place}
        row["count"] += 1
        row["aside"] += self.in_backward or self.in_step
        row["shapes"].add(signature([*args, *kwargs.values()]))
        self._firsts.note("kernel", name, specialization(args, kwargs), self._update)
        self._seconds += real_monotonic() - started
        if self._flame is not None:
            self._flame.ours(started, sys._getframe(1))

    def compiling(self, graph: str) -> None:
        """torch.compile is about to compile `graph`."""
        self._firsts.note("graph", graph, "", self._update)

    # -- updates -------------------------------------------------------------------------------------------------

    def close_update(self) -> None:
        """End the current update, if an optimizer has stepped in it."""
        if not self._has_stepped:
            return
        with self.working():
            self._close()
        word = self._take_turn()
        self._begin_census_if_due(word)
        wanted = max([self.settings.window, *(update + 1 for update in self.settings.profiled)])
        after_window = self.settings.stop_after_window and self._update >= wanted
        if after_window or word == STOP or (self.clock is not None and self.clock.is_over()):
            self._stop()
        self._begin_flame_if_due()

    def _leave(self, phase: str) -> None:
        if self._flame is not None:
            self._flame.leave(phase, sys._getframe(2))

    def _note_training(self) -> None:
        if not self._is_training:
            self._is_training = True
            self.journal.write("training")

    def _take_turn(self) -> bytes | None:
        """Wait until the next update may be made; None where no turns are taken."""
        if self._turns is None:
            return None
        word = self._turns.wait(self._update, self._last_seconds)
        self._closed_at = real_monotonic()
        return word

    def _tick(self) -> None:
        if self.updates_stepped == self._update:
            self.updates_stepped += 1
            if self.clock is not None:
                self.clock.ticked()

    @property
    def _in_window(self) -> bool:
        return self._update < self.settings.window

    def _gather(self) -> None:
        """Count what happened after the last optimizer step into the update."""
        for name, row in self._launches_after_step.items():
            known = self._launches.setdefault(name, {**row, "count": 0, "aside": 0, "shapes": set()})
            known["count"] += row["count"]
            known["aside"] += row["count"]  # between an update's steps or behind them: no forward pass
            known["shapes"] |= row["shapes"]
        self._batches += self._batches_after_step
        self._launches_after_step, self._batches_after_step = {}, []

    def _close(self) -> None:
        flame = self._end_flame()
        self._gather()
        if self._named is None:  # an optimizer that torch does not know
            self._find_model(None)
        counted = None
        if self._census is not None:
            counted, self._census = self._census.end(self.program.site(sys._getframe())), None
        record: dict[str, Any] = {
            "update": self._update,
            "losses": [float(loss.item()).hex() for loss in self._losses],
            "launches": [
                {**row, "shapes": sorted(row["shapes"])}
                for row in sorted(self._launches.values(), key=lambda row: str(row["kernel"]))
            ],
        }
        if self._in_window:
            record["batch_hashes"] = self._batches
            record["gradient_hashes"] = self._gradients
            named = self._named or {}
            record["parameter_hashes"] = {name: tensor_hash(self.torch, value) for name, value in named.items()}
            if self.settings.keep_values:
                values.keep(self.torch, Path(self.settings.records), str(self._update), named)
            if self._optimizers is not None:
                record["groups"], self._optimizers.values = self._optimizers.values, {}
        now = real_monotonic() if flame is None else flame.ended  # what is made of the flame is no part of the update
        self._last_seconds = now - self._closed_at
        self.journal.write("update", seconds=self._last_seconds, **record)
        if self._optimizers is not None and self._update + 1 == self.settings.window:
            self._note_optimizers()
        if counted is not None:
            self.journal.write("census", update=self._update, **counted)
        if flame is not None:
            self.journal.write("flame", update=self._update, **flame.told())
            now = real_monotonic()  # the next update is compared with this one: it begins when this is written
        if self._followed is not None:
            rows, calls = self._followed.take()
            self.journal.write("calls", update=self._update, **calls)
            if self._update == self.settings.census_update:
                self.journal.write("census", update=self._update, rows=rows, times=[])
                self._followed.end()
                self._followed = None
        self._closed_at = now
        self._update += 1
        self._has_stepped = self._has_backward = False
        self._losses, self._launches, self._batches, self._gradients = [], {}, [], {}

    def follow(self) -> None:
        """Follow the program's calls from now on, up to the end of the update that is counted."""
        if self._followed is None and self.settings.census_update is not None and self.torch is not None:
            self._followed = Followed(self.torch, self.program, self)
            self._followed.begin()

    def asked_to_compile(self) -> None:
        """The program asks for compiled code, which it would not get while operators are followed: count one update."""
        if self._followed is not None and self._update != self.settings.census_update:
            self._followed.end()
            self._followed = None

    @contextmanager
    def inside_kernel(self, instructions: dict[Any, str]) -> Iterator[None]:
        """A kernel runs; `instructions` are the functions of which it is made, by their code."""
        if self._followed is None or not instructions or self.busy:
            yield
            return
        with self._followed.instructions(instructions):
            yield

    @contextmanager
    def launching(self, kernel: Any, args: Any, kwargs: Any) -> Iterator[None]:
        """A kernel is launched."""
        if self._flame is None or self.busy:
            yield
            return
        called = real_monotonic()
        name = f"{kernel.__name__}[{getattr(kernel, 'lnc', 1)}] {specialization(args, kwargs)}"
        with self._flame.launching(name, called, sys._getframe(3)):
            yield

    def _begin_census_if_due(self, word: bytes | None) -> None:
        clock = None if word is None else CLOCKS.get(word)
        if self._update == self.settings.census_update:
            self.follow()
        if clock is not None and self.torch is not None:
            self._census = Census(self.torch, self.program, self, clock)
            self._census.begin()

    def _begin_flame_if_due(self) -> None:
        if self._update in self.settings.profiled and self.torch is not None:
            self._flame = Flame(self.torch, self.program, self)
            self._closed_at = real_monotonic()
            self._flame.begin()

    def _end_flame(self) -> Flame | None:
        flame, self._flame = self._flame, None
        if flame is not None:
            flame.end(sys._getframe(1))
        return flame

    def _stop(self) -> None:
        """End the process cleanly, once every rank has got here: a rank that leaves early would break a collective."""
        self._note_end()
        records = Path(self.settings.records)
        (records / f"stopped-{os.environ['RANK']}").touch()
        deadline = real_monotonic() + WAIT_FOR_RANKS_SECONDS
        world = int(os.environ.get("WORLD_SIZE", "1"))
        while len(list(records.glob("stopped-*"))) < world and real_monotonic() < deadline:
            real_sleep(0.01)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    # -- the model -----------------------------------------------------------------------------------------------

    def _find_model(self, optimizer: Any) -> None:
        """Name the parameters by the module that holds most of what is optimized, and of several the largest.

        Without any optimizer of torch's, everything that has a gradient is wanted.
        A rank may optimize a part of the model only; all of it is wanted. A wrapper holds as much: short names win.
        """
        module, optimizers = self.torch.nn.Module, {id(optimizer): optimizer} if optimizer is not None else {}
        modules = []
        for thing in gc.get_objects():
            # type() and not isinstance(): asking a lazy proxy for its class could run the program's code
            if issubclass(type(thing), module):
                modules.append(thing)
            elif issubclass(type(thing), self.torch.optim.Optimizer):
                optimizers[id(thing)] = thing
        groups = [group for each in optimizers.values() for group in each.param_groups]
        wanted = {id(parameter) for group in groups for parameter in group["params"]}
        named: dict[str, Any] = {
            f"group{g}.parameter{p}": parameter
            for g, group in enumerate(groups)
            for p, parameter in enumerate(group["params"])
        }
        if not optimizers:
            wanted = {id(p) for each in modules for p in each.parameters() if p.grad is not None}
        best = (0, 0, 0)
        for candidate in modules:
            parameters = dict(candidate.named_parameters())
            covered = len(wanted & {id(parameter) for parameter in parameters.values()})
            rank = (covered, len(parameters), -sum(map(len, parameters)))
            if covered and rank > best:
                best, named = rank, parameters
        self._named = {_bare(name): parameter for name, parameter in named.items()}
        self._names = {id(parameter): name for name, parameter in self._named.items()}
        self.journal.write(
            "model",
            parameters=[
                {
                    "name": name,
                    "shape": list(parameter.shape),
                    "dtype": dtype_name(parameter.dtype),
                    "device": parameter.device.type,
                    "trainable": parameter.requires_grad,
                    "initial_hash": tensor_hash(self.torch, parameter) if self._in_window else None,
                }
                for name, parameter in self._named.items()
            ],
            knobs=knobs.held(self.program),
        )
        if self.settings.keep_values:
            values.keep(self.torch, Path(self.settings.records), "start", self._named)
        if self.settings.perturb:
            states = [state for each in optimizers.values() for state in each.state.values() if isinstance(state, dict)]
            held = [tensor for state in states for tensor in state.values()]
            held += [parameter for group in groups for parameter in group["params"]]
            self._perturb(self._named, [tensor for tensor in held if self.torch.is_tensor(tensor)])

    def _perturb(self, named: dict[str, Any], held: list[Any]) -> None:
        """Scale every second row of the first parameter that is not zero, and of the optimizers' copies of it.

        Not all of it: a layer in front of a normalization would hide a common factor. A copy is wider than the
        parameter, which is that, rounded, after each step.
        """
        with self.torch.no_grad():
            for _, parameter in sorted(named.items()):
                rows = parameter[::2] if parameter.dim() else parameter
                if bool(rows.count_nonzero().item()):
                    copies = [
                        tensor
                        for tensor in held
                        if tensor.shape == parameter.shape
                        and tensor.dtype != parameter.dtype
                        and bool((tensor.to(parameter.dtype) == parameter).all())
                    ]
                    for tensor in (parameter, *copies):
                        (tensor[::2] if tensor.dim() else tensor).mul_(PERTURBATION)
                    return

    def _hash_gradients(self, optimizer: Any) -> None:
        for g, group in enumerate(optimizer.param_groups):
            for p, parameter in enumerate(group["params"]):
                if parameter.grad is not None:
                    name = self._names.get(id(parameter), f"{type(optimizer).__name__}.group{g}.parameter{p}")
                    self._gradients[name] = tensor_hash(self.torch, parameter.grad)

    def _note_optimizers(self) -> None:
        """Once the window is over, or the run."""
        if self._optimizers is not None:
            self.journal.write("optimizers", plan=self._optimizers.plan(self._names))
            self._optimizers = None

    def _note_end(self) -> None:
        self._note_foreign_modules()
        self.journal.write(
            "end",
            environment=dict(os.environ),
            packages=_packages(self.program),
            neuron=self._neuron(),
            observer_seconds=self._seconds,
            peak_bytes=_peak_bytes(),
        )

    # -- the surroundings ----------------------------------------------------------------------------------------

    @contextmanager
    def working(self) -> Iterator[None]:
        """Our own work: not counted by the census, but counted as the observer's time."""
        if self.busy:
            yield
            return
        started = real_monotonic()
        self.busy = True
        try:
            yield
        finally:
            self.busy = False
            self._seconds += real_monotonic() - started
            if self._flame is not None:
                self._flame.ours(started, sys._getframe(2))

    def _neuron(self) -> str:
        module = sys.modules.get("nki") or sys.modules.get("torch_neuronx")
        if module is None:
            return "absent"
        return "stand-in" if _file(module).startswith(self.settings.stand_ins + "/") else "sdk"

    def _note_foreign_modules(self) -> None:
        """Modules that came from neither the room, the kit, the stand-ins nor an installed package."""
        allowed = tuple(directory.rstrip("/") + "/" for directory in self.settings.code)
        for name, module in sorted(sys.modules.items()):
            file = _file(module)
            if file.startswith("/") and not file.startswith(allowed) and not self.program.is_installed(file):
                self.journal.event("foreign-import", name, None)


def _file(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def _peak_bytes() -> int | None:
    """The most memory that this program has held (VmHWM, which exec resets); None where the system does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123
            return next((int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:")), None)
    except OSError:
        return None


def _bare(name: str) -> str:
    """A parameter's name without the wrappers' parts (DistributedDataParallel, torch.compile)."""
    return ".".join(part for part in name.split(".") if part not in ("module", "_orig_mod"))


def _packages(program: Program) -> dict[str, str]:
    """Versions of the installed packages that the process imported, from the modules themselves."""
    found = {}
    for name, module in sorted(sys.modules.items()):
        version = getattr(module, "__version__", None)
        if "." not in name and isinstance(version, str) and "site-packages" in _file(module):
            found[name] = version
    return found
