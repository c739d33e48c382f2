"""One model process: answers the judge's commands about one submission, until `end` or until the judge hangs up.

channel    socket: one JSON command a line in, one JSON reply a line out, each with the command's nonce
events     pipe: one JSON line for each file written, process started or connection made
memory     file, shared with the judge: slots of token ids (int32) and logits (the model's own dtype)
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import mmap
import socket
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from . import surroundings, tracing
from .collectives import Collectives
from .launches import Launches
from .summaries import dtype, state
from .surroundings import Surroundings
from .training import Training
from .watching import Watch

Json = dict[str, Any]

LONGEST_LIST = 100  # of anything that only a message shows


class Host:
    """`settings`: descriptors, train_py, checkpoint, device, module_name, registered, tokens, slots, slot_bytes.

    A slot is `tokens` int32 ids, then logits up to `slot_bytes` in all.
    """

    def __init__(self, settings: Json) -> None:
        self.train_py: str = settings["train_py"]
        self.checkpoint: str = settings["checkpoint"]
        self.module_name: str = settings["module_name"]
        self.registered: bool = settings["registered"]
        self.device = torch.device(settings["device"])
        self.native_type: type = type(torch.empty(0, device=self.device))
        self.slot_tokens: int = settings["tokens"]
        self.slot_bytes: int = settings["slot_bytes"]
        self.memory = mmap.mmap(settings["memory"], settings["slots"] * self.slot_bytes)
        self.channel = socket.socket(fileno=settings["channel"])
        self.watch = Watch(settings["events"], self.train_py, settings["readable"])
        self.collectives = Collectives(self.train_py)
        self.collectives.install()
        self.training = Training(self.train_py)
        self.training.install()
        self.launches = Launches()
        surroundings.OWNERS["scorer_host.Host"] = Host
        surroundings.OWNERS["scorer_host.Mode"] = Mode
        self.before = Surroundings()
        self.hooks = surroundings.hooks()
        self.module: ModuleType | None = None
        self.model: Any = None
        self.reused: dict[tuple[int, int], torch.Tensor] = {}

    def serve(self) -> None:
        """Answer each command once, in order."""
        operations: dict[str, Callable[[Json], Json]] = {
            "import": self.import_submission,
            "load": self.load,
            "forward": self.forward,
            "state": self.state,
            "dtypes": self.dtypes,
            "locate": self.locate,
            "conduct": self.conduct,
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
        return {"type": type(error).__name__, "message": str(error)[:2000], "frames": frames[-LONGEST_LIST:]}

    # --- Loading ---

    def import_submission(self, _: Json) -> Json:
        """Import the submission by path under another name; entered into `sys.modules` unless told otherwise."""
        self.watch.start()
        specification = importlib.util.spec_from_file_location(self.module_name, self.train_py)
        if specification is None or specification.loader is None:
            raise ImportError(f"{self.train_py} is not importable")
        self.module = importlib.util.module_from_spec(specification)
        if self.registered:
            sys.modules[self.module_name] = self.module
        specification.loader.exec_module(self.module)
        self.launches.install()
        hooks = {
            name: list(inspect.signature(value).parameters)
            for name, value in sorted(vars(self.module).items())
            if inspect.isfunction(value) and value.__module__ == self.module_name
        }
        return {"hooks": hooks, "changed": self.before.changes()[:LONGEST_LIST]}

    def load(self, command: Json) -> Json:
        """Call the hook that gives the model and describe what it returned; `cast` turns its floats into a dtype."""
        before = Surroundings()
        assert self.module is not None
        model = getattr(self.module, command["hook"])(self.checkpoint, self.device)
        self.launches.install()
        if not isinstance(model, torch.nn.Module):
            return {"module": False, "type": type(model).__name__}
        if command.get("cast") is not None:
            model = model.to(getattr(torch, command["cast"]))
        self.model = model
        tensors = [*model.parameters(), *model.buffers()]
        return {
            "module": True,
            "type": type(model).__name__,
            "training": [name or "the model itself" for name, module in model.named_modules() if module.training],
            "parameters": [[name, list(p.shape), dtype(p), p.device.type] for name, p in model.named_parameters()],
            "devices": sorted({tensor.device.type for tensor in tensors}),
            "dtypes": sorted({dtype(tensor) for tensor in tensors if tensor.is_floating_point()}),
            "forward": tracing.line_of(getattr(type(model), "forward", None), self.train_py),
            "hooks": surroundings.module_hooks(model)[:LONGEST_LIST],
            "changed": before.changes()[:LONGEST_LIST],
        }

    def conduct(self, _: Json) -> Json:
        """What the submission did to its surroundings so far: collectives, hooks, replacements; kernels that ran."""
        here = [*surroundings.module_hooks(self.model), *surroundings.hooks()] if self.model is not None else []
        return {
            "collectives": self.collectives.calls[:LONGEST_LIST],
            "training": self.training.calls[:LONGEST_LIST],
            "hooks": [text for text in here if text not in self.hooks][:LONGEST_LIST],
            "changed": [*self.before.changes(), *self.rewired()][:LONGEST_LIST],
            "launches": dict(self.launches.counts),
        }

    def rewired(self) -> list[str]:
        """Methods of this object that something has put others in front of."""
        return [f"scorer_host.Host.{name} was replaced" for name in vars(self) if hasattr(Host, name)]

    # --- Running ---

    def forward(self, command: Json) -> Json:
        """Run one batch in the mode that the flags name (see Mode); `fresh` gives it a new input tensor."""
        tokens = self.tokens(command)
        inputs = self.inputs(tokens, fresh=command.get("fresh", False))
        with Mode(self.model, command):
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
        wanted = [*tokens.shape, command["vocabulary"]]
        if shape == wanted and values.is_floating_point() and values.element_size() <= 4:
            start = command["slot"] * self.slot_bytes + 4 * self.slot_tokens
            target = torch.frombuffer(self.memory, dtype=values.dtype, count=values.numel(), offset=start)
            target.copy_(values.view(-1))
        return answer

    def tokens(self, command: Json) -> torch.Tensor:
        """The batch in a slot, int32 [rows, cols], copied out of the shared memory."""
        rows, cols = command["rows"], command["cols"]
        start = command["slot"] * self.slot_bytes
        found = torch.frombuffer(self.memory, dtype=torch.int32, count=rows * cols, offset=start)
        return found.clone().view(rows, cols)

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
        """Hashes of everything that the model keeps."""
        return {"entries": state(self.model)}

    def dtypes(self, command: Json) -> Json:
        """The floating dtypes that pass through the modules while the batch in a slot runs."""
        inputs = self.inputs(self.tokens(command), fresh=True)
        with Mode(self.model, {}):
            found = tracing.dtypes(self.model, lambda: self.model(inputs))
        return {"dtypes": sorted(found)}

    def locate(self, command: Json) -> Json:
        """The first module that makes a difference between the batches in `slot` and `other_slot`.

        The second batch runs in the mode that the flags name. See tracing for `pairs`, `upto` and `relative`.
        """
        other = {**command, "slot": command["other_slot"], "rows": command["other_rows"], "cols": command["other_cols"]}
        first, second = self.record(command, {}), self.record(other, command)
        name = tracing.first_difference(first, second, command["pairs"], command["upto"], command["relative"])
        if name is None:
            return {"module": None, "line": None}
        line = tracing.enclosing_line(self.model, name, self.train_py)
        return {"module": name or type(self.model).__name__, "line": line}

    def record(self, command: Json, flags: Json) -> tracing.Values:
        """What passes through the modules while one batch runs."""
        inputs = self.inputs(self.tokens(command), fresh=True)

        def run() -> None:
            with Mode(self.model, flags):
                self.model(inputs)

        return tracing.record(self.model, inputs.shape, run)


class Mode:
    """The mode that a batch runs in; the model is left in evaluation mode, its parameters as they were.

    train       in training mode
    retrained   in evaluation mode, after it was in training mode
    grad        with gradients enabled
    frozen      with gradients enabled, and parameters that ask for none
    """

    def __init__(self, model: torch.nn.Module, flags: Json) -> None:
        self.model = model
        self.train, self.retrained = flags.get("train", False), flags.get("retrained", False)
        self.frozen = flags.get("frozen", False)
        self.gradients = torch.enable_grad() if flags.get("grad", False) or self.frozen else torch.no_grad()
        self.asked = [p for p in model.parameters() if p.requires_grad] if self.frozen else []

    def __enter__(self) -> None:
        self.gradients.__enter__()
        for parameter in self.asked:
            parameter.requires_grad_(False)
        if self.train or self.retrained:
            self.model.train()
        if self.retrained:
            self.model.eval()

    def __exit__(self, *exception: Any) -> None:
        if self.train:
            self.model.eval()
        for parameter in self.asked:
            parameter.requires_grad_(True)
        self.gradients.__exit__(*exception)
