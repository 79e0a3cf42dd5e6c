"""Nodes that write and read files. What they write stays below the folder of the user's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn

    from codefy_engine.training.data import TensorDataset


@node(type="SaveModel", title="Save model", category="files", icon="save", writes=True)
class SaveModel(Node):
    """Write a model's weights to a file below your files.

    A name that ends in `.safetensors` gives a safetensors file, any other a file that
    `torch.load(path, weights_only=True)` opens, with the state dict under `model`. The file is whole or not there.
    """

    model: nn.Module = input("model", doc="A model whose layers are made, such as a trained one.")
    path: str = param("models/model.safetensors", label="File", doc="Where to write, below your files.")
    written: str = output("value", name="path", doc="Path of the file.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.weights import save_weights

        path = output_path(ctx, self.path)
        save_weights(path, self.model)
        return str(path)


@node(type="LoadModel", title="Load weights", category="files", icon="folder-open")
class LoadModel(Node):
    """Give a model the weights of a file.

    Reads checkpoints of the **Training loop**, files of **Save model**, safetensors and plain state dicts, without
    running any code from them. A Module's layers are made for the data that is wired, or for the shape that a
    checkpoint remembers. Weights that do not fit are named.
    """

    model: nn.Module = input("model", doc="The model; it is not changed.")
    path: str | None = input("value", required=False, doc="Path of the file; else the parameter *File*.")
    data: TensorDataset | None = input(
        "dataset", required=False, doc="For whose samples the layers are made."
    )
    file: str = param("", kind="file", doc="The file, below your files.")
    loaded: nn.Module = output("model", name="model", doc="A copy with these weights, ready to be applied.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import input_file
        from codefy_engine.training.weights import load_weights

        return load_weights(ctx, self.model, input_file(ctx, self.path or self.file), self.data)


@node(type="SaveTensor", title="Save tensor", category="files", icon="save", writes=True)
class SaveTensor(Node):
    """Write a tensor of any shape to a safetensors file below your files, under the name `tensor`."""

    tensor: Tensor = input("tensor", doc="What to write.")
    path: str = param("tensors/tensor.safetensors", label="File", doc="Where to write, below your files.")
    written: str = output("value", name="path", doc="Path of the file.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.weights import save_tensors

        path = output_path(ctx, self.path)
        save_tensors(path, {"tensor": self.tensor})
        return str(path)


@node(type="LoadTensor", title="Load tensor", category="files", icon="folder-open")
class LoadTensor(Node):
    """Read one tensor of a safetensors file; its shape is that of the file."""

    path: str | None = input("value", required=False, doc="Path of the file; else the parameter *File*.")
    file: str = param("", kind="file", doc="The file, below your files.")
    name: str = param("tensor", doc="Its name in the file.")
    tensor: Tensor = output("tensor", doc="On the run's device.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import input_file
        from codefy_engine.training.weights import load_tensor

        return load_tensor(input_file(ctx, self.path or self.file), self.name).to(ctx.device)


@node(type="ExportOnnx", title="Export to ONNX", category="files", icon="package", writes=True)
class ExportOnnx(Node):
    """Write a model as an ONNX file, for programs without torch.

    The input `x` is `[n, …sample]` with any n. Needs `pip install "codefy-engine[onnx]"`.
    """

    model: nn.Module = input("model", doc="A trained model.")
    data: TensorDataset = input("dataset", doc="One of its samples tells the shape.")
    path: str = param("models/model.onnx", label="File", doc="Where to write, below your files.")
    written: str = output("value", name="path", doc="Path of the file.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.weights import export_onnx

        path = output_path(ctx, self.path)
        export_onnx(path, self.model, self.data.inputs)
        return str(path)


@node(type="SaveCsv", title="Save CSV", category="files", icon="table", writes=True)
class SaveCsv(Node):
    """Write a table to a CSV file below your files.

    A tensor `[n]` or `[n, columns]` gives one row per number or row; a data set its samples, flattened, with the
    target as last column (classes by name); metrics one row per epoch, or one row.
    """

    value: Any = input("any", doc="A tensor, a data set, or metrics.")
    path: str = param("tables/table.csv", label="File", doc="Where to write, below your files.")
    columns: str = param("", doc="Names of the columns, with commas. Empty: by the data.")
    written: str = output("value", name="path", doc="Path of the file.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.writing import write_csv

        path = output_path(ctx, self.path)
        names = [part.strip() for part in self.columns.split(",")] if self.columns.strip() else []
        write_csv(path, self.value, names, ctx.check_stop)
        return str(path)


@node(type="SaveImages", title="Save images", category="files", icon="images", writes=True)
class SaveImages(Node):
    """Write images as PNG files below your files.

    A data set of images with classes gives one folder per class, as **Image folder** reads it; a tensor
    `[n, channels, height, width]` gives files `0000.png`, `0001.png` … Numbers from 0 to 1 become black to full.
    """

    images: Any = input("any", doc="A data set of images, or a tensor.")
    folder: str = param("images", doc="Where to write, below your files.")
    count: int | None = param(None, ge=1, le=1_000_000, doc="How many, from the first. Empty: all.")
    written: str = output("value", name="path", doc="Path of the folder.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.writing import write_images

        path = output_path(ctx, self.folder)
        write_images(ctx, path, self.images, self.count)
        return str(path)


@node(type="SaveText", title="Save text", category="files", icon="file-text", writes=True)
class SaveText(Node):
    """Write a text to a file in UTF-8 below your files; other values are written as people read them."""

    value: Any = input("any", doc="What to write.")
    path: str = param("texts/text.txt", label="File", doc="Where to write, below your files.")
    written: str = output("value", name="path", doc="Path of the file.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.files import output_path
        from codefy_engine.training.writing import replace_file

        path = output_path(ctx, self.path)
        replace_file(path, str(self.value).encode())
        return str(path)
