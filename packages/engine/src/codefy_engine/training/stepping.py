"""One batch of a training: forward, loss, backward, and the optimizer's step when its turn has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from codefy_engine.training.schedules import Schedules

LossFunction = Callable[[Any, Tensor], Tensor]
"""``(outputs, targets)`` to a scalar: the mean over the batch."""

Precision = Literal["fp32", "bf16", "fp16"]


def usable_precision(wanted: Precision, device: torch.device) -> Precision:
    """``wanted``, or what the device can do instead: half precision needs an accelerator."""
    return "bf16" if wanted == "fp16" and device.type == "cpu" else wanted


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor | None:
    """The Euclidean norm of all gradients together, a scalar on the device; ``None`` without gradients."""
    norm_of = cast("Callable[[Tensor], Tensor]", torch.linalg.vector_norm)  # pyright: ignore[reportUnknownMemberType]
    norms = [norm_of(parameter.grad) for parameter in parameters if parameter.grad is not None]
    return norm_of(torch.stack(norms)) if norms else None


class Stepper:
    """Does the batches of one training.

    Args:
        batches: batches of an epoch, so that the last ones, if too few for a full group, still count.
        accumulate: batches whose gradients are averaged before the optimizer steps.
        clip_norm: upper bound for the norm of all gradients together.
        clip_value: upper bound for the size of every single number of a gradient.
        precision: ``bf16`` and ``fp16`` run forward and loss under autocast; ``fp16`` scales the loss too.

    Raises:
        ValueError: LBFGS, which repeats its batches, with accumulation, clipping or mixed precision.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: LossFunction,
        schedules: Schedules | None,
        *,
        batches: int,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: Precision = "fp32",
        device: torch.device | None = None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.schedules = schedules
        self.measure = False
        """Set before a batch whose gradient norm is wanted although nothing is clipped."""
        self.norm: Tensor | None = None
        """Norm of the last step's gradients, before they were clipped; ``None`` when it was not measured."""
        self.updated = True
        """Whether the last batch ended a group, so that the optimizer stepped."""
        self._batches = batches
        self._accumulate = accumulate
        self._clip_norm = clip_norm
        self._clip_value = clip_value
        self._device_type = "cpu" if device is None else device.type
        self._dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        scaled = precision == "fp16" and self._device_type == "cuda"
        self._scaler = torch.amp.GradScaler(self._device_type) if scaled else None
        self._repeats = isinstance(optimizer, torch.optim.LBFGS)
        plain = accumulate == 1 and clip_norm is None and clip_value is None and self._dtype is None
        self._plain = plain and not self._repeats
        if self._repeats and not plain:
            raise ValueError("LBFGS cannot be joined with accumulation, clipping or mixed precision")

    def autocast(self) -> AbstractContextManager[Any]:
        """What forward passes stand in."""
        return nullcontext() if self._dtype is None else torch.autocast(self._device_type, self._dtype)

    def __call__(self, index: int, inputs: Tensor, targets: Tensor) -> tuple[Any, Tensor]:
        """Learn from batch ``index`` of the epoch; gives its outputs and its loss, both still on the device."""
        self.norm = None
        if self._plain and not self.measure:
            outputs = self.model(inputs)
            loss = self.loss(outputs, targets)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # pyright: ignore[reportUnknownMemberType]  # torch leaves its arguments untyped
            self.optimizer.step()
            if self.schedules is not None:
                self.schedules.after_step()
            return outputs, loss
        if self._repeats:
            return self._repeated(inputs, targets)
        if self._dtype is None:
            outputs = self.model(inputs)
            loss = self.loss(outputs, targets)
        else:
            with self.autocast():
                outputs = self.model(inputs)
                loss = self.loss(outputs, targets)
        place = index % self._accumulate
        size = min(self._accumulate, self._batches - (index - place))
        if place == 0:
            self.optimizer.zero_grad(set_to_none=True)
        part = loss if size == 1 else loss / size
        if self._scaler is not None:
            part = self._scaler.scale(part)
        part.backward()  # pyright: ignore[reportUnknownMemberType]
        self.updated = place == size - 1
        if self.updated:
            self._update()
        return outputs, loss

    def _update(self) -> None:
        scaler, done = self._scaler, True
        if self.measure or self._clip_norm is not None or self._clip_value is not None:
            if scaler is not None:
                scaler.unscale_(self.optimizer)
            if self._clip_value is not None:
                nn.utils.clip_grad_value_(self.model.parameters(), self._clip_value)
            if self._clip_norm is not None:
                self.norm = nn.utils.clip_grad_norm_(self.model.parameters(), self._clip_norm)
            else:
                self.norm = gradient_norm(self.model.parameters())
        if scaler is None:
            self.optimizer.step()
        else:
            before = scaler.get_scale()
            scaler.step(self.optimizer)
            scaler.update()
            # A smaller scale means that the gradients overflowed and the step was left out.
            done = scaler.get_scale() >= before
        if done and self.schedules is not None:
            self.schedules.after_step()

    def _repeated(self, inputs: Tensor, targets: Tensor) -> tuple[Any, Tensor]:
        first: list[Any] = []

        def closure() -> Tensor:
            self.optimizer.zero_grad(set_to_none=True)
            outputs = self.model(inputs)
            loss = self.loss(outputs, targets)
            loss.backward()  # pyright: ignore[reportUnknownMemberType]  # torch leaves its arguments untyped
            if not first:
                first.extend((outputs, loss))
                if self.measure:
                    self.norm = gradient_norm(self.model.parameters())
            return loss

        cast("Any", self.optimizer).step(closure)
        if self.schedules is not None:
            self.schedules.after_step()
        return first[0], first[1]

    # ------------------------------------------------------------------ checkpoints
    def state(self, index: int) -> dict[str, Any]:
        """What a training needs to go on after ``index`` batches of an epoch, as plain data and tensors."""
        state: dict[str, Any] = {}
        if self.schedules is not None:
            state["schedules"] = self.schedules.state()
        if self._scaler is not None:
            state["scaler"] = self._scaler.state_dict()
        if index % self._accumulate:
            # In the middle of a group: what it gathered so far.
            state["gradients"] = {
                name: parameter.grad
                for name, parameter in self.model.named_parameters()
                if parameter.grad is not None
            }
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave.

        Raises:
            ValueError: it belongs to other schedules.
        """
        if self.schedules is not None:
            self.schedules.restore(state.get("schedules", []))
        if self._scaler is not None and "scaler" in state:
            self._scaler.load_state_dict(state["scaler"])
        gradients = cast("dict[str, Tensor]", state.get("gradients", {}))
        for name, parameter in self.model.named_parameters():
            if name in gradients:
                parameter.grad = gradients[name].to(parameter.device)
