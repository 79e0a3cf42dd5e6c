"""Weights of models to files and back, without running code from a file."""

from __future__ import annotations

import importlib
import secrets
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from codefy_engine.nodes.base import NodeContext, NodeError
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.module import GraphModule, independent_copy
from codefy_engine.training.writing import replace_file

_NAMED = 3
"""Weights that a message names."""


def save_weights(path: Path, model: nn.Module) -> None:
    """Write the state dict: safetensors by the suffix, else a file for ``torch.load``.

    Raises:
        NodeError: the model has no weights yet.
    """
    if isinstance(model, GraphModule) and not model.built:
        raise NodeError("this model has no weights yet: its layers are made when data arrives, in a training")
    state = {name: value.detach().cpu() for name, value in model.state_dict().items()}
    if not state:
        raise NodeError("this model has no weights that can be saved")
    if path.suffix == ".safetensors":
        save_tensors(path, state)
        return
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        torch.save({"model": state}, partial)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file, whole or not at all."""
    from safetensors.torch import save

    # Two names for one tensor, and views of another, are no business of the file's.
    copies = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    replace_file(path, save(copies))


def load_tensor(path: Path, name: str) -> Tensor:
    """One tensor of a safetensors file.

    Raises:
        NodeError: the file is no safetensors file, or has no such tensor.
    """
    tensors = _safetensors(path)
    if name not in tensors:
        raise NodeError(f"{path.name} has no tensor {name!r}; it has {', '.join(sorted(tensors)[:20])}")
    return tensors[name]


def load_weights(ctx: NodeContext, model: nn.Module, path: Path, data: TensorDataset | None) -> nn.Module:
    """A copy of ``model`` with the weights of a file, in evaluation mode on the run's device.

    Raises:
        NodeError: the file cannot be read, or its weights do not fit.
    """
    state, shape = _read(path)
    own = independent_copy(model)
    if isinstance(own, GraphModule) and not own.built:
        if data is not None:
            own.build_for(data.inputs[:1])
        elif shape is not None:
            own.build_for(torch.zeros(1, *shape))
        else:
            raise NodeError(
                "wire data of the right shape: this file does not say what the layers are made for"
            )
    mine = own.state_dict()
    missing = sorted(mine.keys() - state.keys())
    foreign = sorted(state.keys() - mine.keys())
    if missing or foreign:
        words = [
            f"{what} {', '.join(names[:_NAMED])}{' …' if len(names) > _NAMED else ''}"
            for what, names in (("it lacks", missing), ("the model has no", foreign))
            if names
        ]
        raise NodeError(f"{path.name} does not fit the model: {'; '.join(words)}")
    for name, value in mine.items():
        if state[name].shape != value.shape:
            raise NodeError(
                f"{path.name} does not fit the model: {name} is {list(state[name].shape)} in the file and "
                f"{list(value.shape)} in the model"
            )
    own.load_state_dict(state)
    return own.to(ctx.device).eval()


def _read(path: Path) -> tuple[dict[str, Tensor], tuple[int, ...] | None]:
    """The state dict of a file, and the shape of a sample when it says so."""
    if path.suffix == ".safetensors":
        return _safetensors(path), None
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise NodeError(f"{path.name} holds no weights that can be read: {error}") from error
    fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    shape = cast("dict[str, Any]", fields.get("config") or {}).get("sample_shape")
    state = fields.get("model", fields)
    if (
        not isinstance(state, dict)
        or not state
        or not all(isinstance(value, Tensor) for value in cast("dict[str, Any]", state).values())
    ):
        raise NodeError(f"{path.name} holds no weights")
    return cast("dict[str, Tensor]", state), None if shape is None else tuple(shape)


def _safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(path.read_bytes())
    except SafetensorError as error:
        raise NodeError(f"{path.name} is no safetensors file: {error}") from error


def export_onnx(path: Path, model: nn.Module, inputs: Tensor) -> None:
    """Write an ONNX file with input ``x`` and output ``y``, the number of samples left open.

    Raises:
        NodeError: the onnx packages are missing, or the model cannot be exported.
    """
    for module in ("onnx", "onnxscript"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise NodeError(
                f'this node needs {module}: install it with  pip install "codefy-engine[onnx]"  where the run executes'
            ) from error
    own = independent_copy(model)
    if isinstance(own, GraphModule):
        own.build_for(inputs[:1])
    own = own.cpu().eval()
    example = inputs[:1].cpu().repeat(2, *(1,) * (inputs.dim() - 1))
    partial = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        _export(own, example, partial)
        partial.replace(path)
    except NodeError:
        raise
    except Exception as error:  # the exporter's errors have no base of their own
        raise NodeError(f"the model cannot be written as ONNX: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _export(model: nn.Module, example: Tensor, path: Path) -> None:
    export = cast("Any", torch.onnx).export
    export(
        model,
        (example,),
        str(path),
        input_names=["x"],
        output_names=["y"],
        dynamic_shapes=({0: torch.export.Dim("n")},),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
