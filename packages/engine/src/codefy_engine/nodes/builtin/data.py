"""Nodes that bring data in and cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from codefy_engine.training.data import TensorDataset


@node(type="SklearnDataset", title="Built-in data", category="data", icon="database")
class SklearnDataset(Node):
    """A small data set that comes with scikit-learn and needs no download.

    | name | samples | one sample | target |
    | --- | --- | --- | --- |
    | `digits` | 1,797 | `1 x 8 x 8` grey image, 0 to 1 | 10 classes |
    | `wine` | 178 | `13` measurements | 3 classes |
    | `iris` | 150 | `4` measurements | 3 classes |
    | `breast_cancer` | 569 | `30` measurements | 2 classes |
    | `diabetes` | 442 | `10` measurements | `1` number |
    | `linnerud` | 20 | `3` exercises | `3` measurements |

    Samples are float32. Targets are int64 class numbers `[n]`, or float32 `[n, 1]` and `[n, 3]` for the last two.
    The measurements are not scaled: see *standardize* of **Split**.
    """

    name: str = param(
        "digits",
        choices=[
            ("digits", "Digits (images)"),
            ("wine", "Wine"),
            ("iris", "Iris"),
            ("breast_cancer", "Breast cancer"),
            ("diabetes", "Diabetes (regression)"),
            ("linnerud", "Linnerud (regression)"),
        ],
        label="Data set",
        doc="Which data set to load.",
    )
    dataset: TensorDataset = output("dataset", doc="All samples with their targets.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.sklearn_data import load_sklearn

        return load_sklearn(self.name)


@node(type="TrainTestSplit", title="Split", category="data", icon="split")
class TrainTestSplit(Node):
    """Divide a data set into a training, a validation and a test part.

    The training part gets what the other two leave. With *stratify*, every part has the classes in the same
    shares (ignored for regression). With *standardize*, every feature is shifted and scaled so that it has mean 0
    and deviation 1 **in the training part**; the other parts are scaled with the same numbers, so that nothing of
    them leaks into training.

    A part whose fraction is 0 is empty. Shapes of samples stay as they are.
    """

    dataset: TensorDataset = input("dataset", doc="The data to divide.")
    test_fraction: float = param(0.15, ge=0, lt=1, label="Test", doc="Share of the samples for the test.")
    validation_fraction: float = param(
        0.15, ge=0, lt=1, label="Validation", doc="Share of the samples for validation."
    )
    stratify: bool = param(True, doc="Keep the shares of the classes equal in all parts.")
    standardize: bool = param(False, doc="Scale features to mean 0 and deviation 1 by the training part.")
    seed: int | None = param(
        None, ge=0, le=2**31 - 1, doc="Decides who goes where. Empty: the run's seed.", advanced=True
    )
    train: TensorDataset = output("dataset", doc="What the model learns from.")
    test: TensorDataset = output("dataset", doc="What it is judged by at the end.")
    validation: TensorDataset = output("dataset", doc="What it is watched with while it trains.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import split_dataset

        seed = self.seed if self.seed is not None else (ctx.seed or 0)
        parts = split_dataset(
            self.dataset,
            test_fraction=self.test_fraction,
            validation_fraction=self.validation_fraction,
            seed=seed,
            stratify=self.stratify,
            standardize=self.standardize,
        )
        return {"train": parts.train, "validation": parts.validation, "test": parts.test}


@node(type="DataLoader", title="Batches", category="data", icon="rows")
class DataLoader(Node):
    """Say how a data set is cut into batches.

    A batch of inputs is `[batch_size, …sample]`, a batch of targets `[batch_size, …]`. The last batch of an epoch
    is smaller when the samples do not divide evenly, unless *drop_last* leaves it out. The order of a shuffled
    epoch depends on the run's seed and the number of the epoch only.
    """

    dataset: TensorDataset = input("dataset", doc="The data to cut.")
    batch_size: int = param(64, ge=1, le=65_536, unit="samples", doc="Samples per optimizer step.")
    shuffle: bool = param(True, doc="Another order in every epoch.")
    drop_last: bool = param(False, doc="Leave out an incomplete last batch.", advanced=True)
    loader: TensorDataset = output("dataset", doc="The same data with its batches.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.data import Batching

        return self.dataset.batched(
            Batching(batch_size=self.batch_size, shuffle=self.shuffle, drop_last=self.drop_last)
        )
