"""The environment of a run: what has to be equal for equal numbers (X-8)."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from codefy_engine import __version__
from codefy_engine.execution.preload import loaded_torch

PACKAGES = (
    "codefy-engine",
    "codefy-protocol",
    "datasets",
    "msgspec",
    "numpy",
    "onnx",
    "pillow",
    "safetensors",
    "scikit-learn",
    "scipy",
    "tokenizers",
    "torch",
    "torchvision",
    "transformers",
)
"""Distributions whose versions decide numbers, where they are installed."""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What computes."""

    engine: str
    python: str
    implementation: str
    system: str
    """``Linux``, ``Darwin``, ``Windows``."""
    machine: str
    """``x86_64``, ``arm64``."""
    torch: str
    cuda: str
    cudnn: str
    devices: list[str]
    """Names of the accelerators that torch has in use: asking an idle card for its name would take memory on it."""
    packages: dict[str, str]
    numerics: dict[str, str | int | bool]
    """Settings of torch that change results in the last digits."""


def environment_fingerprint(*, load_torch: bool = True) -> Fingerprint:
    """The environment as it is now. Without ``load_torch`` it tells of CUDA only where torch is loaded already."""
    packages = _versions()
    torch: Any = loaded_torch()
    if torch is None and load_torch:
        import torch as loaded

        torch = loaded
    return Fingerprint(
        engine=__version__,
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=platform.system(),
        machine=platform.machine(),
        torch=packages.get("torch", "") if torch is None else str(torch.__version__),
        cuda="" if torch is None else str(torch.version.cuda or ""),
        cudnn="" if torch is None else _cudnn(torch),
        devices=[] if torch is None else _devices(torch),
        packages=packages,
        numerics={} if torch is None else _numerics(torch),
    )


def fingerprint_digest(fingerprint: Fingerprint) -> str:
    """SHA-256 of the fingerprint in canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(fingerprint, order="deterministic")).hexdigest()


@cache
def _versions() -> dict[str, str]:
    """Of the packages as they were when first asked for: what is loaded does not change afterwards."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cudnn(torch: Any) -> str:
    if not torch.cuda.is_available():
        return ""
    return str(torch.backends.cudnn.version() or "")


def _devices(torch: Any) -> list[str]:
    if torch.cuda.is_initialized():
        return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return ["mps"] if torch.backends.mps.is_available() else []


def _numerics(torch: Any) -> dict[str, str | int | bool]:
    return {
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "deterministic": bool(torch.are_deterministic_algorithms_enabled()),
        "float32_matmul": str(torch.get_float32_matmul_precision()),
        "cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
        "threads": int(torch.get_num_threads()),
        "mkl": bool(torch.backends.mkl.is_available()),
    }
