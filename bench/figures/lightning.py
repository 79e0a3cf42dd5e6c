"""The training loop against PyTorch Lightning's, each with what it reports by itself, on the same network and data.

Lightning gets its batches the way the loop by hand makes them, so that no loader is measured, and has no checkpoints,
progress bar or model summary; it logs the loss of every step to a CSV file, which is less than Codefy reports.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from bench.figures.training import EPOCHS, Stopwatch, by_codefy, compared, digits, network
from bench.measure import Figure, NotMeasured
from codefy_engine.training.data import TensorDataset

ROUNDS = 15


class Shuffled:
    """Batches of 64 in another order each epoch, cut out of one tensor."""

    def __init__(self, dataset: TensorDataset) -> None:
        self._inputs, self._targets = dataset.inputs, dataset.targets
        self._epoch = 0

    def __len__(self) -> int:
        return math.ceil(len(self._targets) / 64)

    def __iter__(self) -> Any:
        order = torch.randperm(len(self._targets), generator=torch.Generator().manual_seed(self._epoch))
        self._epoch += 1
        for start in range(0, len(order), 64):
            chosen = order[start : start + 64]
            yield self._inputs[chosen], self._targets[chosen]


def by_lightning(dataset: TensorDataset, folder: Path) -> Stopwatch:
    """Lightning's loop, without what it does before the first batch and after the last."""
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = network()
            self.loss_of = nn.CrossEntropyLoss()
            self.watch = Stopwatch(EPOCHS * len(dataset))

        def training_step(self, batch: Any, index: int) -> Any:
            inputs, targets = batch
            loss = self.loss_of(self.network(inputs), targets)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=3e-3)

        def on_train_start(self) -> None:
            self.watch.__enter__()

        def on_train_end(self) -> None:
            self.watch.__exit__()

    module = Module()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        devices=1,
        logger=CSVLogger(str(folder)),
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, Shuffled(dataset))
    return module.watch


def measure() -> list[Figure]:
    if importlib.util.find_spec("lightning") is None:
        raise NotMeasured(
            "PyTorch Lightning is not installed; `uv sync --all-packages --group bench` does it"
        )
    importlib.import_module("lightning.pytorch")
    # Its import sets the level of its greetings, so this comes after.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    dataset = digits()
    with TemporaryDirectory() as name, warnings.catch_warnings():
        # It advises on workers of loaders, of which there are none here.
        warnings.simplefilter("ignore")
        folder = Path(name)
        wall, cpu = compared(
            ROUNDS, lambda: by_codefy(dataset, folder), lambda: by_lightning(dataset, folder)
        )
    what = "training loop, digits CNN"
    return [
        Figure("training_lightning", what, "PyTorch Lightning", "samples/s", wall),
        Figure("training_lightning_cpu", f"{what}, processor time", "PyTorch Lightning", "samples/s", cpu),
    ]
