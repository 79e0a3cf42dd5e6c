"""Data from files, and data typed in by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, NodeError, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor

    from codefy_engine.training.data import TensorDataset


@node(type="CsvDataset", title="CSV file", category="data", icon="table")
class CsvDataset(Node):
    """A table from a CSV file: one sample per row, one feature per column.

    Samples `[n, columns]` float32. The target column gives class numbers `[n]` when it holds texts (or *Target* says
    so), else numbers `[n, 1]`. The file is UTF-8. A row with too many or too few values is refused with its line, and
    so is a text where a number is needed.
    """

    path: str | None = input("value", required=False, doc="Path of the file; else the parameter *File*.")
    file: str = param("", kind="file", doc="The file, below your files.")
    target: str = param("", label="Target column", doc="Name or number of the column. Empty: the last one.")
    features: str = param("", doc="Names of the columns to learn from, with commas. Empty: all others.")
    task: Literal["auto", "classes", "numbers"] = param(
        "auto",
        choices=[("auto", "By the column"), ("classes", "Classes"), ("numbers", "Numbers")],
        label="Target",
        doc="What the target column holds. By the column: texts are classes.",
    )
    texts: Literal["error", "one_hot", "drop"] = param(
        "one_hot",
        choices=[("error", "Refuse"), ("one_hot", "One column each"), ("drop", "Leave out")],
        label="Text columns",
        doc="What to do with feature columns of texts: one column of 0 and 1 for each text, for example.",
    )
    missing: Literal["error", "drop", "mean"] = param(
        "error",
        choices=[("error", "Refuse"), ("drop", "Leave out the row"), ("mean", "Take the mean")],
        label="Missing values",
        doc="What to do with empty cells.",
    )
    header: bool = param(True, doc="The first row names the columns.", advanced=True)
    delimiter: Literal[",", ";", "tab", "|"] = param(
        ",", doc="What stands between two values.", advanced=True
    )
    dataset: TensorDataset = output("dataset", doc="The rows with their targets.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import input_file
        from codefy_engine.training.tables import dataset_of, read_table

        path = input_file(ctx, self.path or self.file)
        delimiter = "\t" if self.delimiter == "tab" else self.delimiter
        table = read_table(path, delimiter=delimiter, header=self.header, check_stop=ctx.check_stop)
        return dataset_of(
            table,
            name=path.name,
            target=self.target.strip(),
            features=[part.strip() for part in self.features.split(",") if part.strip()],
            task=self.task,
            missing=self.missing,
            texts=self.texts,
            check_stop=ctx.check_stop,
        )


@node(type="ImageFolder", title="Image folder", category="data", icon="images")
class ImageFolder(Node):
    """Pictures in folders, one folder per class: `animals/cat/1.png`, `animals/dog/1.jpg` …

    Samples `[n, channels, height, width]` float32 from 0 to 1, all brought to one size; the names of the folders are
    the classes, in their order. A file that is no picture is named.
    """

    path: str | None = input("value", required=False, doc="Path of the folder; else the parameter *Folder*.")
    folder: str = param("", kind="file", doc="The folder, below your files.")
    height: int = param(32, ge=1, le=4096, unit="px", doc="Height that all pictures get.")
    width: int = param(32, ge=1, le=4096, unit="px", doc="Width that all pictures get.")
    grey: bool = param(False, doc="One channel instead of red, green and blue.")
    broken: Literal["error", "skip"] = param(
        "error",
        choices=[("error", "Refuse"), ("skip", "Leave out, with a warning")],
        label="Unreadable files",
        doc="What to do with a file that is no picture.",
    )
    limit: int | None = param(
        None, ge=1, le=10_000_000, doc="Most pictures of a class. Empty: all.", advanced=True
    )
    dataset: TensorDataset = output("dataset", doc="The pictures with their classes.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import input_folder
        from codefy_engine.training.pictures import load_folder
        from codefy_protocol import reasons

        dataset, skipped = load_folder(
            input_folder(ctx, self.path or self.folder),
            size=(self.height, self.width),
            mode="L" if self.grey else "RGB",
            broken=self.broken,
            limit=self.limit,
            check_stop=ctx.check_stop,
            progress=lambda done, total: ctx.progress(current=done, total=total, unit="images"),
        )
        if skipped:
            ctx.warn(reasons.reason(reasons.FILES_SKIPPED, count=len(skipped), files=", ".join(skipped[:10])))
        return dataset


@node(type="TextFile", title="Text file", category="data", icon="file-text")
class TextFile(Node):
    """The text of a file in UTF-8."""

    path: str | None = input("value", required=False, doc="Path of the file; else the parameter *File*.")
    file: str = param("", kind="file", doc="The file, below your files.")
    limit: int | None = param(
        None,
        ge=1,
        le=1_000_000_000,
        label="Length",
        unit="characters",
        doc="Read so many at most. Empty: all.",
    )
    text: str = output("value", doc="What the file holds.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import input_file
        from codefy_engine.training.tables import read_text

        path = input_file(ctx, self.path or self.file)
        try:
            with path.open(encoding="utf-8-sig") as file:
                return read_text(file, self.limit, ctx.check_stop)
        except UnicodeDecodeError as error:
            raise NodeError(f"{path.name} is no text in UTF-8 (byte {error.start})") from error


@node(type="TensorByHand", title="Tensor by hand", category="data", icon="grid-3x3")
class TensorByHand(Node):
    """Numbers that are typed in, as a tensor.

    `5` is a single number, `[1, 2]` has shape `[2]`, `[[1, 2], [3, 4]]` has shape `[2, 2]`.
    """

    values: Any = param([[1, 2], [3, 4]], kind="tensor", doc="The numbers, in rows.")
    dtype: Literal["float32", "float64", "int64", "bool"] = param(
        "float32",
        choices=[
            ("float32", "Numbers (32 bits)"),
            ("float64", "Numbers (64 bits)"),
            ("int64", "Whole numbers"),
            ("bool", "True or false"),
        ],
        label="Type",
        doc="The type of every number.",
    )
    tensor: Tensor = output("tensor", doc="The numbers.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        return torch.tensor(self.values, dtype=getattr(torch, self.dtype), device=ctx.device)
