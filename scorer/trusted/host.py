"""The model process: it holds the submission's model, takes token ids and gives back logits. It never sees a target.

Run as a script in a room of its own; it imports nothing of ours. The judge passes one JSON argument:

    channel   inherited socket: one JSON command a line in, one JSON reply a line out, each with the command's nonce
    events    inherited pipe: one JSON line for each file written, process started or connection made
    memory    inherited file, shared with the judge: slots of token ids (int32) and logits (the model's own dtype)
    train_py, checkpoint, device, module_name

Nothing that it says is trusted further than it can hurt the submission: the judge measures the bytes in the slots.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch

Json = dict[str, Any]

DEVICE_MODULES = {"neuron": "torch_neuronx"}
"""Devices that exist only once a module is imported, as the organiser's scorer does before it loads a submission."""

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
PROCESSES = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
CONNECTIONS = {"socket.connect", "socket.bind", "socket.sendto"}
WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC

SHARED_FUNCTIONS: tuple[tuple[str, Any, str], ...] = (
    ("time.time", time, "time"),
    ("time.monotonic", time, "monotonic"),
    ("time.perf_counter", time, "perf_counter"),
    ("math.log", math, "log"),
    ("math.fsum", math, "fsum"),
    ("torch.nn.functional.cross_entropy", torch.nn.functional, "cross_entropy"),
    ("torch.nn.functional.log_softmax", torch.nn.functional, "log_softmax"),
    ("torch.log_softmax", torch, "log_softmax"),
    ("torch.logsumexp", torch, "logsumexp"),
    ("torch.load", torch, "load"),
    ("torch.save", torch, "save"),
    ("torch.Tensor.float", torch.Tensor, "float"),
    ("torch.Tensor.to", torch.Tensor, "to"),
    ("torch.nn.Module.__call__", torch.nn.Module, "__call__"),
    ("torch.nn.Module.eval", torch.nn.Module, "eval"),
    ("torch.nn.Module.train", torch.nn.Module, "train"),
    ("json.dumps", json, "dumps"),
)
"""What a scorer in the same process would rely on; a submission that rebinds one of these changes its own score."""


class Host:
    """Serves commands until `end`, or until the judge hangs up."""

    def __init__(self, settings: Json) -> None:
        self.train_py: str = settings["train_py"]
        self.checkpoint: str = settings["checkpoint"]
        self.module_name: str = settings["module_name"]
        self.device_name: str = settings["device"]
        self.device = torch.device("cpu")  # until `hello`: the device may need a module that makes it
        self.memory_handle: int = settings["memory"]
        self.channel = socket.socket(fileno=settings["channel"])
        self.watch = Watch(settings["events"], self.train_py)
        self.module: ModuleType | None = None
        self.model: Any = None
        self.native_type: type = torch.Tensor
        self.probing = (0, 0)  # process id and pipe of the fork that imports, too
        self.memory: mmap.mmap | None = None
        self.slot_tokens = self.slot_bytes = 0
        self.reused: dict[tuple[int, int], torch.Tensor] = {}

    def serve(self) -> None:
        """Answer each command once, in order."""
        operations: dict[str, Callable[[Json], Json]] = {
            "hello": self.hello,
            "probe": self.probe,
            "probed": self.probed,
            "import": self.import_submission,
            "load": self.load,
            "map": self.map,
            "forward": self.forward,
            "state": self.state,
            "locate": self.locate,
        }
        with self.channel.makefile("r", encoding="utf-8") as commands:
            for line in commands:
                command: Json = json.loads(line)
                operation = command["op"]
                self.watch.phase = operation
                if operation == "end":
                    self.reply(command, {"ok": True})
                    return
                try:
                    answer = {"ok": True, **operations[operation](command)}
                except BaseException as error:  # whatever a submission raises, SystemExit too, is its answer
                    answer = {"ok": False, "error": self.describe(error)}
                self.reply(command, answer)

    def reply(self, command: Json, answer: Json) -> None:
        """Send one reply, with its command's nonce."""
        self.channel.sendall((json.dumps({"nonce": command["nonce"], **answer}) + "\n").encode())

    def describe(self, error: BaseException) -> Json:
        """An exception and where the submission was when it rose: [line, function] innermost last."""
        frames = [
            [frame.lineno, frame.name]
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == self.train_py
        ]
        if isinstance(error, SyntaxError) and error.filename == self.train_py:
            frames.append([error.lineno or 1, "<module>"])
        return {"type": type(error).__name__, "message": str(error)[:2000], "frames": frames}

    # --- Loading ---

    def hello(self, _: Json) -> Json:
        """Versions, and the device made available."""
        neuron = "absent"
        module_name = DEVICE_MODULES.get(self.device_name)
        if module_name is not None:
            module = importlib.import_module(module_name)
            neuron = "stand-in" if "standins" in (module.__file__ or "") else "sdk"
        self.device = torch.device(self.device_name)
        self.native_type = type(torch.empty(0, device=self.device))
        packages = {name: str(sys.modules[name].__version__) for name in ("numpy", "torch") if name in sys.modules}
        return {
            "python": sys.version.split()[0],
            "packages": packages,
            "neuron": neuron,
            "environment": dict(os.environ),
            "threads": torch.get_num_threads(),
        }

    def probe(self, _: Json) -> Json:
        """Begin to import the submission in a fork, without an entry in `sys.modules`, as some scorers do."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self.channel.close()
            try:
                self.execute(registered=False)
                outcome: Json = {"imported": True}
            except BaseException as error:  # reported, whatever it is
                outcome = {"imported": False, "error": self.describe(error)}
            os.write(writing, json.dumps(outcome).encode())
            os._exit(0)
        os.close(writing)
        self.probing = (child, reading)
        return {}

    def probed(self, _: Json) -> Json:
        """How that import went."""
        child, reading = self.probing
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        died = {"type": "exit", "message": "the process ended during the import", "frames": []}
        outcome: Json = json.loads(text) if text else {"imported": False, "error": died}
        return outcome

    def import_submission(self, _: Json) -> Json:
        """Import the submission by path under another name, and look at what that changed outside of it."""
        before = Surroundings()
        self.watch.start()
        self.module = self.execute(registered=True)
        hooks = {
            name: list(inspect.signature(value).parameters)
            for name, value in sorted(vars(self.module).items())
            if inspect.isfunction(value) and value.__module__ == self.module_name
        }
        return {"hooks": hooks, "changed": before.changes()}

    def execute(self, registered: bool) -> ModuleType:
        """Run train.py as a module, entered into `sys.modules` or not."""
        specification = importlib.util.spec_from_file_location(self.module_name, self.train_py)
        if specification is None or specification.loader is None:
            raise ImportError(f"{self.train_py} is not importable")
        module = importlib.util.module_from_spec(specification)
        if registered:
            sys.modules[self.module_name] = module
        specification.loader.exec_module(module)
        return module

    def load(self, _: Json) -> Json:
        """Call `load_for_eval` and describe what it returned."""
        before = Surroundings()
        assert self.module is not None
        model = self.module.load_for_eval(self.checkpoint, self.device)
        if not isinstance(model, torch.nn.Module):
            return {"module": False, "type": type(model).__name__}
        self.model = model
        tensors = [*model.parameters(), *model.buffers()]
        return {
            "module": True,
            "type": type(model).__name__,
            "training": [name or "the model itself" for name, module in model.named_modules() if module.training],
            "parameters": [[name, list(p.shape), dtype(p), p.device.type] for name, p in model.named_parameters()],
            "devices": sorted({tensor.device.type for tensor in tensors}),
            "dtypes": sorted({dtype(tensor) for tensor in tensors if tensor.is_floating_point()}),
            "forward": self.line_of(getattr(type(model), "forward", None)),
            "hooks": [name or "the model itself" for name, module in model.named_modules() if hooked(module)],
            "changed": before.changes(),
        }

    def line_of(self, function: object) -> int | None:
        """Line of a function's definition, where that is in train.py."""
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        return code.co_firstlineno if isinstance(code, CodeType) and code.co_filename == self.train_py else None

    # --- Running ---

    def map(self, command: Json) -> Json:
        """Map the shared memory: `slots` slots of `tokens` int32 ids followed by `logit_bytes` bytes."""
        self.slot_tokens = command["tokens"]
        self.slot_bytes = 4 * command["tokens"] + command["logit_bytes"]
        self.memory = mmap.mmap(self.memory_handle, command["slots"] * self.slot_bytes)
        return {}

    def forward(self, command: Json) -> Json:
        """Run one batch. `train` and `grad` put the model into those modes, `fresh` gives it a new input tensor."""
        tokens = self.tokens(command)
        inputs = self.inputs(tokens, fresh=command.get("fresh", False))
        with Mode(self.model, command.get("train", False), command.get("grad", False)):
            logits = self.model(inputs)
        shape = list(logits.shape) if isinstance(logits, torch.Tensor) else None
        answer: Json = {
            "exact": type(logits) is self.native_type,
            "type": type(logits).__name__,
            "shape": shape,
            "input_intact": torch.equal(inputs.to("cpu"), tokens),
        }
        if not isinstance(logits, torch.Tensor):
            return answer
        values = logits.detach().to("cpu").contiguous()
        answer.update(dtype=dtype(values), device=logits.device.type)
        if (
            shape == [*tokens.shape, command["vocabulary"]]
            and values.is_floating_point()
            and values.element_size() <= 4
        ):
            assert self.memory is not None
            start = command["slot"] * self.slot_bytes + 4 * self.slot_tokens
            target = torch.frombuffer(self.memory, dtype=values.dtype, count=values.numel(), offset=start)
            target.copy_(values.view(-1))
        return answer

    def tokens(self, command: Json) -> torch.Tensor:
        """The batch in a slot, int32 [rows, cols], copied out of the shared memory."""
        assert self.memory is not None
        rows, cols = command["rows"], command["cols"]
        start = command["slot"] * self.slot_bytes
        return (
            torch.frombuffer(self.memory, dtype=torch.int32, count=rows * cols, offset=start).clone().view(rows, cols)
        )

    def inputs(self, tokens: torch.Tensor, fresh: bool) -> torch.Tensor:
        """The batch on the device; unless `fresh`, in the same storage as the last batch of this shape."""
        key = (tokens.shape[0], tokens.shape[1])
        if fresh or key not in self.reused:
            device_tokens = torch.empty(key, dtype=torch.int32, device=self.device)
            if not fresh:
                self.reused[key] = device_tokens
        else:
            device_tokens = self.reused[key]
        return device_tokens.copy_(tokens)

    def state(self, _: Json) -> Json:
        """Hashes of everything that the model keeps: parameters, buffers, tensors and plain values on its modules."""
        kept = self.model.state_dict().keys()
        tensors = [("parameter", *pair) for pair in self.model.named_parameters()]
        tensors += [("buffer", *pair) for pair in self.model.named_buffers()]
        entries = [
            [kind if name in kept or kind == "parameter" else "transient buffer", name, digest(tensor)]
            for kind, name, tensor in tensors
        ]
        for name, module in self.model.named_modules():
            for attribute, value in sorted(vars(module).items()):
                if attribute.startswith("_") or attribute == "training":
                    continue
                if (summary := summarise(value)) is not None:
                    entries.append(["attribute", f"{name}.{attribute}" if name else attribute, summary])
        return {"entries": entries}

    def locate(self, command: Json) -> Json:
        """The first module whose code makes a difference between two runs, where there should be none.

        That is the module whose output differs first, or, where an input differs before that, the module around it.
        Slot `slot` holds the first batch, `other_slot` the second; row `pairs[i][0]` of the one is compared with row
        `pairs[i][1]` of the other, positions below `upto` only.
        """
        first = self.record(self.tokens(command))
        other = {**command, "slot": command["other_slot"], "rows": command["other_rows"], "cols": command["other_cols"]}
        second = self.record(self.tokens(other), command.get("train", False), command.get("grad", False))
        left, right = ([pair[side] for pair in command["pairs"]] for side in (0, 1))
        for (name, before), (other_name, after) in zip(first, second, strict=False):
            if name != other_name:
                return {"module": name, "line": self.enclosing_line(name)}
            here, there = before[left, : command["upto"]].float(), after[right, : command["upto"]].float()
            if here.shape != there.shape:
                continue
            scale = float(here.abs().max()) or 1.0
            if not float((here - there).abs().max()) <= command["relative"] * scale:
                return {"module": name or type(self.model).__name__, "line": self.enclosing_line(name)}
        return {"module": None, "line": None}

    def record(self, tokens: torch.Tensor, train: bool = False, grad: bool = False) -> list[tuple[str, torch.Tensor]]:
        """Each module's inputs and outputs in the order of the run, where their first two axes are the batch's.

        With each goes the module whose code made it: for an input that is the module around.
        """
        values: list[tuple[str, torch.Tensor]] = []
        shape = tokens.shape

        def keep(name: str, found: Any) -> None:
            for value in found if isinstance(found, tuple) else (found,):
                if isinstance(value, torch.Tensor) and value.dim() >= 3 and value.shape[:2] == shape:
                    values.append((name, value.detach().to("cpu").clone()))

        def before(name: str) -> Callable[..., None]:
            return lambda _module, arguments: keep(name.rpartition(".")[0], arguments)

        def after(name: str) -> Callable[..., None]:
            return lambda _module, _arguments, output: keep(name, output)

        handles = []
        for name, module in self.model.named_modules():
            handles += [module.register_forward_pre_hook(before(name)), module.register_forward_hook(after(name))]
        try:
            with Mode(self.model, train, grad):
                self.model(self.inputs(tokens, fresh=True))
        finally:
            for handle in handles:
                handle.remove()
        return values

    def enclosing_line(self, name: str) -> int | None:
        """Line of the forward of a module, or of the nearest one around it that the submission defines."""
        while True:
            line = self.line_of(type(self.model.get_submodule(name)).forward)
            if line is not None or not name:
                return line
            name = name.rpartition(".")[0]


class Mode:
    """Evaluation in the mode asked for, with gradients or without; the model is left in evaluation mode."""

    def __init__(self, model: torch.nn.Module, train: bool, grad: bool) -> None:
        self.model, self.train = model, train
        self.gradients = torch.enable_grad() if grad else torch.no_grad()

    def __enter__(self) -> None:
        self.gradients.__enter__()
        if self.train:
            self.model.train()

    def __exit__(self, *exception: Any) -> None:
        if self.train:
            self.model.eval()
        self.gradients.__exit__(*exception)


class Surroundings:
    """What a submission has no business to change: shared functions, torch's defaults, threads, signal handlers."""

    def __init__(self) -> None:
        self.functions = {name: getattr(owner, attribute) for name, owner, attribute in SHARED_FUNCTIONS}
        self.values = self.now()

    @staticmethod
    def now() -> dict[str, str]:
        """What there is, in words."""
        values = {
            "torch's default dtype": str(torch.get_default_dtype()),
            "torch's default device": str(torch.get_default_device()),
            "torch's gradient mode": str(torch.is_grad_enabled()),
            "the working directory": str(Path.cwd()),
            "running threads": ", ".join(sorted(thread.name for thread in threading.enumerate())),
        }
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGCHLD):
            values[f"the handler of {number.name}"] = getattr(signal.getsignal(number), "__name__", "default")
        return values

    def changes(self) -> list[str]:
        """What is different now, in words."""
        now = self.now()
        changed = [f"{name}: {value} became {now[name]}" for name, value in self.values.items() if now[name] != value]
        return changed + [
            f"{name} was replaced"
            for name, owner, attribute in SHARED_FUNCTIONS
            if getattr(owner, attribute) is not self.functions[name]
        ]


class Watch:
    """An audit hook that tells the judge what the submission writes, starts and connects to, until the process ends."""

    def __init__(self, handle: int, train_py: str) -> None:
        self.handle, self.train_py, self.phase = handle, train_py, "start"

    def start(self) -> None:
        """Listen from now on; an audit hook cannot be taken away again."""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter for every audit event; says nothing unless the submission stands behind it."""
        if event == "open":
            path, mode, flags = arguments
            writing = any(c in mode for c in "wax+") if isinstance(mode, str) else bool(flags & WRITING_FLAGS)
            if not writing or not isinstance(path, str | bytes) or os.fsdecode(path) == os.devnull:
                return
            kind, detail = "write", os.fsdecode(path)
        elif event in WRITES:
            kind, detail = "write", os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else event
        elif event in PROCESSES:
            kind, detail = "subprocess", event
        elif event in CONNECTIONS:
            kind, detail = "connect", repr(arguments[1:])
        else:
            return
        frames = list(walk(sys._getframe(1)))
        lines = [frame.f_lineno for frame in frames if frame.f_code.co_filename == self.train_py]
        if not lines:
            return
        direct = frames[0].f_code.co_filename == self.train_py
        note = {"kind": kind, "detail": detail, "line": lines[0], "direct": direct, "phase": self.phase}
        os.write(self.handle, (json.dumps(note) + "\n").encode())


def walk(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def hooked(module: torch.nn.Module) -> bool:
    """Whether something is called before or after a module's forward."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def dtype(tensor: torch.Tensor) -> str:
    """A tensor's dtype, e.g. "bfloat16"."""
    return str(tensor.dtype).removeprefix("torch.")


def digest(tensor: torch.Tensor) -> str:
    """Hash of a tensor's bytes."""
    flat = tensor.detach().to("cpu").contiguous().reshape(-1)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()[:32]


def summarise(value: object) -> str | None:
    """A comparable summary of a plain value or tensor; None for anything else."""
    if isinstance(value, torch.Tensor):
        return digest(value)
    if plain(value) or (isinstance(value, tuple) and all(map(plain, value))):
        return repr(value)[:200]
    if isinstance(value, dict | list | set):
        return f"{type(value).__name__} of {len(value)}"
    return None


def plain(value: object) -> bool:
    """Whether the printed form of a value says all about it."""
    return isinstance(value, bool | int | float | str | None)


if __name__ == "__main__":
    HOST = Host(json.loads(sys.argv[1]))  # kept, and its channel open, until all exit handlers have run
    HOST.serve()
