"""Data sets of torchvision and Hugging Face, and those that scikit-learn downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, node, output, param

if TYPE_CHECKING:
    from codefy_engine.training.data import TensorDataset


@node(type="TorchvisionDataset", title="torchvision data", category="data", icon="database", writes=True)
class TorchvisionDataset(Node):
    """A well-known set of images, by torchvision (an optional package).

    Samples `[n, channels, height, width]` float32 from 0 to 1, with their classes. The files are kept in `torchvision`
    below your files, so that they are downloaded once. Needs `pip install "codefy-engine[vision]"`.
    """

    name: str = param(
        "MNIST",
        choices=["MNIST", "FashionMNIST", "KMNIST", "CIFAR10", "CIFAR100", "SVHN", "STL10"],
        label="Data set",
        doc="Which data set to load.",
    )
    train: bool = param(True, label="Training part", doc="Else the part for testing.")
    size: int | None = param(None, ge=1, le=1024, unit="px", doc="Height and width. Empty: as they are.")
    limit: int | None = param(
        None, ge=1, le=10_000_000, unit="samples", doc="The first ones only. Empty: all."
    )
    download: bool = param(True, doc="Download the files when they are not there.")
    dataset: TensorDataset = output("dataset", doc="The pictures with their classes.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.hubs import torchvision_set

        return torchvision_set(
            self.name,
            ctx.files_dir / "torchvision",
            train=self.train,
            size=self.size,
            download=self.download,
            limit=self.limit,
            check_stop=ctx.check_stop,
            progress=lambda done, total: ctx.progress(current=done, total=total, unit="images"),
        )


@node(type="HuggingFaceDataset", title="Hugging Face data", category="data", icon="database", writes=True)
class HuggingFaceDataset(Node):
    """Two columns of a data set from the Hugging Face hub (an optional package).

    Pictures become `[n, channels, height, width]` float32 from 0 to 1, numbers `[n, …]`; whole numbers in the target
    column are classes. Needs `pip install "codefy-engine[hugging-face]"`.
    """

    path: str = param("", label="Data set", doc="Its name on the hub, or a folder.")
    subset: str = param("", doc="Its configuration, if it has several.", advanced=True)
    split: str = param("train", label="Part", doc="Such as train, or test[:10%].")
    input_column: str = param("image", doc="The column to learn from.")
    target_column: str = param("label", doc="The column to foretell.")
    size: int | None = param(None, ge=1, le=1024, unit="px", doc="Height and width. Empty: as they are.")
    limit: int | None = param(
        None, ge=1, le=10_000_000, unit="samples", doc="The first ones only. Empty: all."
    )
    dataset: TensorDataset = output("dataset", doc="All samples with their targets.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.hubs import hugging_face_set

        return hugging_face_set(
            self.path,
            subset=self.subset,
            split=self.split,
            input_column=self.input_column,
            target_column=self.target_column,
            size=self.size,
            limit=self.limit,
            cache=ctx.files_dir / "hugging-face",
            check_stop=ctx.check_stop,
            progress=lambda done, total: ctx.progress(current=done, total=total, unit="samples"),
        )


@node(type="SklearnDownload", title="Downloaded data", category="data", icon="database", writes=True)
class SklearnDownload(Node):
    """A larger data set that scikit-learn downloads once.

    | name | samples | one sample | target |
    | --- | --- | --- | --- |
    | `california_housing` | 20,640 | `8` measurements | `1` number |
    | `olivetti_faces` | 400 | `1 x 64 x 64` grey image | 40 classes |
    | `covtype` | 581,012 | `54` measurements | 7 classes |

    The files are kept in `scikit-learn` below your files.
    """

    name: str = param(
        "california_housing",
        choices=[
            ("california_housing", "California housing (regression)"),
            ("olivetti_faces", "Faces (images)"),
            ("covtype", "Forest cover"),
        ],
        label="Data set",
        doc="Which data set to load.",
    )
    dataset: TensorDataset = output("dataset", doc="All samples with their targets.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.sklearn_data import fetch_sklearn

        return fetch_sklearn(self.name, ctx.files_dir / "scikit-learn")
