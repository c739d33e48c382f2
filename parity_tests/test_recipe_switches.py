"""A switch that is off leaves nothing in the artifact: of each operation stands there what the configuration names."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from builder.produce import Request, build
from scorer.artifact import Artifact
from scorer.contest import load
from scorer.review import review

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "recipe/kernels").glob("*.py"))
OFF: dict[str, Any] = {"norm": "torch", "rotary": "torch", "mlp": "torch", "loss": "torch"}
CHOICES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "no kernels": (
        OFF | {"logit_softcap": "10.0"},
        {"TorchRMSNorm", "TorchRotaryQKNorm", "TorchReLUSquared", "TorchSoftcapCrossEntropy"},
    ),
    "chunked loss": (
        OFF | {"loss": "chunked"},
        {"TorchRMSNorm", "TorchRotaryQKNorm", "TorchReLUSquared", "TorchHeadCrossEntropy"},
    ),
    "chunked loss with n-grams": (
        OFF | {"loss": "chunked", "ngram": "torch"},
        {"TorchRMSNorm", "TorchRotaryQKNorm", "TorchReLUSquared", "TorchHeadCrossEntropy", "TorchNgramMix"},
    ),
    "other torch operations": (
        OFF | {"activation": "swiglu", "conv_taps": 2, "fused_attention": "false"},
        {
            "TorchRMSNorm", "TorchRotaryQKNorm", "TorchAttention", "TorchCausalConvolution", "TorchSwiGLU",
            "TorchSoftcapCrossEntropy",
        },
    ),
    "swiglu": (
        {"mlp": "nki", "activation": "swiglu", "conv": "nki", "conv_taps": 3},
        {"NkiRMSNorm", "NkiRotaryQKNorm", "NkiCausalConvolution", "NkiSwiGLU", "NkiSoftcapCrossEntropy"},
    ),
    "fused": (
        {"mlp": "fused", "loss": "fused", "attention": "nki"},
        {"NkiRMSNorm", "NkiRotaryQKNorm", "NkiAttention", "NkiFusedMLP", "NkiHeadCrossEntropy"},
    ),
    "fused swiglu": (
        {"mlp": "fused", "activation": "swiglu"},
        {"NkiRMSNorm", "NkiRotaryQKNorm", "NkiFusedGatedMLP", "NkiSoftcapCrossEntropy"},
    ),
    "embedding, fp8, n-grams, optimizers": (
        OFF | {"embedding": "nki", "projection": "fp8_nki", "ngram": "nki", "muon": "nki", "adamw": "nki", "ema": "nki"}
        | {"ema_decay": 0.9, "adam_state": "bfloat16"},
        {
            "TorchRMSNorm", "TorchRotaryQKNorm", "TorchReLUSquared", "TorchSoftcapCrossEntropy", "NkiEmbedding",
            "NkiFp8Projection", "NkiNgramMix", "NkiNewtonSchulz", "NkiWeightAverage",
        },
    ),
    "fp8, n-grams, average on torch": (
        OFF | {"projection": "fp8_torch", "ngram": "torch", "ema_decay": 0.9, "muon_steps": "polar_express"},
        {
            "TorchRMSNorm", "TorchRotaryQKNorm", "TorchReLUSquared", "TorchSoftcapCrossEntropy", "TorchFp8Projection",
            "TorchNgramMix", "TorchWeightAverage",
        },
    ),
}  # fmt: skip


def operations(path: Path) -> set[str]:
    """The modules that a kernel file offers: one class for each implementation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith(("Nki", "Torch"))
    }


def kernels(text: str) -> set[str]:
    """The NKI kernels that a file defines."""
    decorated = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.decorator_list)
    return {node.name for node in decorated if "nki.jit" in [ast.unparse(each) for each in node.decorator_list]}


OPTIMIZERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing": ({}, {"Muon", "AdamW"}),
    "state in bf16": (
        {"muon_state": "bfloat16", "adam_state": "bfloat16"},
        {"Muon", "RoundedNesterov", "AdamW", "RoundedAdamW"},
    ),
    "parameters in bf16": (
        {"matrix_dtype": "bfloat16", "table_dtype": "bfloat16", "ema_decay": 0.5},
        {"Muon", "RoundedNesterov", "MasterMuon", "AdamW", "RoundedAdamW", "MasterAdamW",
         "FloatWeightAverage", "round_parameters"},
    ),
    "blended": ({"ema_decay": 0.5, "ema_blend": 0.5}, {"Muon", "AdamW", "blend"}),
    "tables in bf16, by the kernel, clipped": (
        {"table_dtype": "bfloat16", "adamw": "nki", "clip": 1.0},
        {"Muon", "FlatAdamW", "FlatMasterAdamW", "round_parameters", "clip_grad_norm_"},
    ),
    "two ranks": ({"world_size": 2}, {"Muon", "AdamW", "average_gradients", "share_parameters"}),
    "two ranks, overlapped": (
        {"world_size": 2, "overlap": "true"},
        {"Muon", "AdamW", "OverlappedGradients", "OverlappedSharing"},
    ),
    "two ranks, sharded": (
        {"world_size": 2, "sharding": "fsdp"},
        {"Muon", "AdamW", "ShardedMuon", "fully_shard", "consolidated"},
    ),
    "one rank, with nothing to overlap": ({"overlap": "true"}, {"Muon", "AdamW"}),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_artifact_holds_the_optimizers_that_are_named_and_no_others(name: str) -> None:
    sets, expected = OPTIMIZERS[name]
    pairs = tuple(f"{knob}={value}" for knob, value in sets.items())
    config = ROOT / "recipe/configs/small.yaml"
    artifact = build(Request(settings=ROOT / "recipe/build.yaml", config=config, sets=pairs, contest="embedded"))
    words = set(re.findall(r"(\w+)\(", artifact.files["train.py"].decode()))
    assert words & set().union(*(words for _, words in OPTIMIZERS.values())) == expected


@pytest.mark.parametrize("name", CHOICES)
def test_the_artifact_holds_the_operations_that_are_named_and_no_others(name: str) -> None:
    sets, expected = CHOICES[name]
    pairs = tuple(f"{knob}={value}" for knob, value in sets.items())
    config = ROOT / "recipe/configs/small.yaml"
    artifact = build(Request(settings=ROOT / "recipe/build.yaml", config=config, sets=pairs, contest="embedded"))
    text = artifact.files["train.py"].decode()
    users = ["recipe/operations.py", "recipe/mlp.py", "recipe/optim.py", "recipe/average.py"]
    if "muon" not in sets:
        expected = expected | {"TorchNewtonSchulz"}
    model = {used for path in FILES for used in operations(path)} & {
        alias.name
        for user in users
        for node in ast.parse((ROOT / user).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {operation for operation in model if re.search(rf"^class {operation}[(:]", text, re.M)} == expected
    assert {operation for operation in model if f"{operation}(" in text} == expected
    stated = {kernel for kernel, found in artifact.kernels.items() if found.launches}
    assert kernels(text) == stated == set(artifact.kernels)
    assert bool(stated) == any(operation.startswith("Nki") for operation in expected)


# Modules whose classes switches choose.
STACK = ["attention", "bigram", "block", "future", "gates", "model", "moe", "recall", "row_table"]
ALWAYS = {"Attention", "Stack", "Block", "GPT", "Positions"}
SWITCHES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {  # classes, and words in the code
    "none": ({}, set(), set()),
    "layers and skips": (
        {"attention_every": 2, "window_pattern": "SL", "attention_window": 9, "fused_attention": "false"}
        | {"skips": "true"},
        {"MLPBlock", "RecallingStack", "Skip"},
        {"range(0, 3, 2)", "(9, 9, 0)[layer]", "recall", "window_pattern"},
    ),
    "embeddings": (
        {"residual_mix": "true", "value_embeddings": "true"},
        {"RecallingStack", "ResidualMix", "EmbeddedAttention", "PositionsAndTokens", "Gate"},
        {"recall", "'tokens'", "layer in (0, 2)", "gate"},
    ),
    "experts": (
        {"experts": 4, "expert_width": 16, "attention_every": 2, "loss": "fused"},
        {"Experts", "RoutedBlock", "RoutedMLPBlock", "MLPBlock", "RoutedGPT"},
        {"range(0, 3, 2)", "'balance'", "active_params_M", "with_gradient"},
    ),
    "further tokens": (
        {"future_tokens": 2},
        {"FutureGPT", "Ahead"},
        {"ahead", "with_gradient"},
    ),
    "bigrams": (
        {"bigram_rows": 97, "bigram_width": 8},
        {"BigramEmbedding", "NarrowBigramEmbedding", "RowTable", "Read", "RowAdagrad"},
        {"bigrams_of", "dense_parameters"},
    ),
    "gates": (
        {"attention_gate": "true", "smear_gate": "true"},
        {"GatedAttention", "Smear", "Gate"},
        {"gate", "Smear("},
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_of_the_stack_brings_its_classes_and_words_and_no_others(name: str) -> None:
    sets, classes, words = SWITCHES[name]
    pairs = ("depth=3", *(f"{knob}={value}" for knob, value in sets.items()))
    config = ROOT / "recipe/configs/small.yaml"
    artifact = build(Request(settings=ROOT / "recipe/build.yaml", config=config, sets=pairs, contest="embedded"))
    text = artifact.files["train.py"].decode()
    defined = {
        node.name
        for module in STACK
        for node in ast.parse((ROOT / f"recipe/{module}.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert {each for each in defined if re.search(rf"^class {each}[(:]", text, re.M)} == ALWAYS | classes
    code = "\n".join(line for line in ast.unparse(ast.parse(text)).splitlines() if '"""' not in line)
    everywhere = {word for _, _, some in SWITCHES.values() for word in some}
    assert {word for word in everywhere if word in code} == words


def test_layers_without_attention_are_no_choice_between_its_kernel_and_other_code(tmp_path: Path) -> None:
    config = ROOT / "recipe/configs/baseline-embedded.yaml"
    request = Request(
        settings=ROOT / "recipe/build.yaml",
        config=config,
        sets=("depth=5", "attention=nki", "attention_every=3"),
        contest="embedded",
    )
    text = build(request).files["train.py"].decode()
    file = tmp_path / "train.py"
    launch = "NEURON_LOGICAL_NC_CONFIG=2 torchrun --standalone --nproc_per_node=2 train.py"

    def codes(source: str) -> set[str]:
        file.write_text(source, encoding="utf-8")
        return {finding.code for finding in review(Artifact.from_file(file, launch), load("embedded"))}

    assert codes(text) == set()
    core = "    core = make_layer_core(layer)\n"
    assert text.count(core) == 1
    assert codes(text.replace(core, f"    if layer % 3 > 0:\n        return make_mlp_block()\n{core}")) == {"REV028"}


LOOP = {
    "batch_warmup_fraction=0.3": "micro_batches_of(",
    "row_pool=64": "shuffled(",
    "compile=true": "compile_whole(",
    "log_every=10": "step % 10 == 0",
    "safety_save_every=0.3": "next_save",
}
"""Each switch of the training loop, and what the artifact holds for it."""


def test_a_switch_of_the_loop_that_is_off_leaves_nothing_and_one_that_is_on_stands_there() -> None:
    config = ROOT / "recipe/configs/small.yaml"
    request = Request(settings=ROOT / "recipe/build.yaml", config=config, sets=("micro_batches=2",), contest="embedded")
    off, on = build(request), build(dataclasses.replace(request, sets=("micro_batches=2", *LOOP)))
    for text in LOOP.values():
        assert text not in off.files["train.py"].decode(), text
        assert text in on.files["train.py"].decode(), text
    assert not any(kernel.by_passes for kernel in off.kernels.values())
    assert on.kernels["rms_norm_forward"].by_passes == {1: 5, 2: 10}
    assert on.kernels["rms_norm_forward"].launches == off.kernels["rms_norm_forward"].launches == 10
