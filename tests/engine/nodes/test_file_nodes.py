"""What is written can be read back, by these nodes and by the programs whose formats they are."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import nn

from codefy_engine.nodes.base import NodeError, RunStopped
from codefy_engine.nodes.builtin import data_files, files
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.sklearn_data import load_sklearn


@dataclass
class Ctx:
    """As much of a context as these nodes ask for."""

    files_dir: Path
    device: str = "cpu"
    seed: int = 0
    left: int = 10**9

    def check_stop(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RunStopped

    def progress(self, *args: Any, **kwargs: Any) -> None:
        pass

    def reading(self, path: Path) -> None:
        pass


@pytest.fixture
def ctx(tmp_path: Path) -> Ctx:
    (tmp_path / "files").mkdir()
    return Ctx(tmp_path / "files")


def run(cls: Any, params: dict[str, Any] | None, ctx: Any, /, **inputs: Any) -> Any:
    return cls.create(params, **inputs).run(ctx)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))


@pytest.fixture
def make_small() -> Any:
    from codefy_engine.graph import Builder
    from codefy_engine.graph.plan import plan_subgraph
    from codefy_engine.nodes.registry import default_registry
    from codefy_engine.training.module import GraphModule

    graph = Builder("small")
    net = graph.subgraph("net")
    net.add("ModuleOutput", "o", x=net.add("Linear", "l", x=net.add("ModuleInput", "i"), out_features=3))
    plan = plan_subgraph(graph.build(), "net", default_registry())
    return lambda seed: GraphModule("net", plan, seed=seed)


@pytest.mark.parametrize("name", ["m.safetensors", "deep/m.pt"])
def test_a_model_is_saved_and_loaded(ctx: Ctx, name: str) -> None:
    model = network()
    path = run(files.SaveModel, {"path": name}, ctx, model=model)
    assert Path(path) == ctx.files_dir.resolve() / name
    state = load_file(path) if name.endswith("safetensors") else torch.load(path, weights_only=True)["model"]
    assert state.keys() == model.state_dict().keys()
    fresh = network()
    loaded = run(files.LoadModel, {"file": name}, ctx, model=fresh)
    x = torch.randn(6, 4)
    assert torch.equal(loaded(x), model.eval()(x))
    assert not torch.equal(fresh.eval()(x), loaded(x))
    assert [item.name for item in Path(path).parent.iterdir()] == [Path(path).name]


def test_a_drawn_model_takes_the_weights_of_a_checkpoint(ctx: Ctx, make_small: Any) -> None:
    trained = make_small(seed=1)
    with pytest.raises(NodeError, match="no weights yet"):
        run(files.SaveModel, None, ctx, model=trained)
    trained.build_for(torch.zeros(1, 4))
    path = run(files.SaveModel, {"path": "m.safetensors"}, ctx, model=trained)
    with pytest.raises(NodeError, match="wire data of the right shape"):
        run(files.LoadModel, None, ctx, model=make_small(seed=2), path=path)
    data = TensorDataset(inputs=torch.randn(3, 4), targets=torch.zeros(3, 1))
    loaded = run(files.LoadModel, None, ctx, model=make_small(seed=2), path=path, data=data)
    assert torch.equal(loaded(data.inputs), trained.eval()(data.inputs))
    checkpoint = {"model": trained.state_dict(), "config": {"sample_shape": [4]}}
    torch.save(checkpoint, ctx.files_dir / "c.pt")
    loaded = run(files.LoadModel, {"file": "c.pt"}, ctx, model=make_small(seed=2))
    assert torch.equal(loaded(data.inputs), trained(data.inputs))


def test_weights_that_do_not_fit_are_named(ctx: Ctx) -> None:
    run(files.SaveModel, {"path": "m.pt"}, ctx, model=nn.Linear(4, 5))
    with pytest.raises(
        NodeError, match=r"it lacks 0.bias, 0.weight, 1.bias …; the model has no bias, weight"
    ):
        run(files.LoadModel, {"file": "m.pt"}, ctx, model=network())
    with pytest.raises(NodeError, match=r"weight is \[5, 4\] in the file and \[5, 3\] in the model"):
        run(files.LoadModel, {"file": "m.pt"}, ctx, model=nn.Linear(3, 5))
    (ctx.files_dir / "x.pt").write_bytes(b"nonsense")
    (ctx.files_dir / "x.safetensors").write_bytes(b"nonsense")
    torch.save([1, 2], ctx.files_dir / "list.pt")
    for name, words in (
        ("x.pt", "no weights that can be read"),
        ("x.safetensors", "no safetensors file"),
        ("list.pt", "holds no weights"),
    ):
        with pytest.raises(NodeError, match=words):
            run(files.LoadModel, {"file": name}, ctx, model=network())


def test_a_tensor_keeps_type_and_numbers(ctx: Ctx) -> None:
    for tensor in (torch.randn(3, 2), torch.arange(4), torch.tensor(2.5, dtype=torch.float64).t()):
        path = run(files.SaveTensor, None, ctx, tensor=tensor)
        found = run(files.LoadTensor, None, ctx, path=path)
        assert torch.equal(found, tensor) and found.dtype == tensor.dtype
        assert torch.equal(load_file(path)["tensor"], tensor)
    with pytest.raises(NodeError, match="no tensor 'other'; it has tensor"):
        run(files.LoadTensor, {"name": "other"}, ctx, path=path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_an_onnx_file_holds_the_model(ctx: Ctx) -> None:
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    data = TensorDataset(inputs=torch.randn(5, 4), targets=torch.zeros(5, 1))
    path = run(files.ExportOnnx, None, ctx, model=model, data=data)
    loaded = onnx.load(path)
    onnx.checker.check_model(loaded)
    assert [(item.name, item.type.tensor_type.shape.dim[1].dim_value) for item in loaded.graph.input] == [
        ("x", 4)
    ]
    assert loaded.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    (result,) = ReferenceEvaluator(loaded).run(None, {"x": data.inputs.numpy()})
    assert np.allclose(result, model(data.inputs).detach().numpy(), atol=1e-5)
    assert [item.name for item in Path(path).parent.iterdir()] == ["model.onnx"]


def test_without_onnx_the_node_says_how_to_get_it(ctx: Ctx, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    data = TensorDataset(inputs=torch.randn(5, 4), targets=torch.zeros(5, 1))
    with pytest.raises(NodeError, match=r'needs onnx: install it with  pip install "codefy-engine\[onnx\]"'):
        run(files.ExportOnnx, None, ctx, model=network(), data=data)


def rows_of(path: str) -> list[list[str]]:
    with Path(path).open(newline="") as file:
        return list(csv.reader(file))


def test_tables_are_written_and_read_back(ctx: Ctx) -> None:
    iris = load_sklearn("iris")
    path = run(files.SaveCsv, None, ctx, value=iris)
    found = run(data_files.CsvDataset, None, ctx, path=path)
    assert torch.equal(found.inputs, iris.inputs)
    assert torch.equal(found.targets, iris.targets)
    assert (found.feature_names, found.class_names) == (iris.feature_names, iris.class_names)
    path = run(files.SaveCsv, {"columns": "a, b"}, ctx, value=torch.tensor([[1, 2], [3, 4]]))
    assert rows_of(path) == [["a", "b"], ["1", "2"], ["3", "4"]]
    metrics = {"history": [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}], "epoch": 2}
    assert rows_of(run(files.SaveCsv, None, ctx, value=metrics))[1:] == [["1", "0.5"], ["2", "0.25"]]
    assert rows_of(run(files.SaveCsv, None, ctx, value={"mae": 1.5})) == [["mae"], ["1.5"]]
    with pytest.raises(ValueError, match="a str is no table"):
        run(files.SaveCsv, None, ctx, value="text")
    with pytest.raises(ValueError, match="1 columns need as many names"):
        run(files.SaveCsv, {"columns": "a, b"}, ctx, value=torch.ones(3))
    ctx.left = 1
    with pytest.raises(RunStopped):
        run(files.SaveCsv, {"path": "big.csv"}, ctx, value=torch.ones(3000))
    assert not (ctx.files_dir / "big.csv").exists()


def test_images_are_written_and_read_back(ctx: Ctx) -> None:
    digits = load_sklearn("digits").select(torch.arange(20))
    path = run(files.SaveImages, {"folder": "digits"}, ctx, images=digits)
    found = run(data_files.ImageFolder, {"height": 8, "width": 8, "grey": True}, ctx, path=path)
    order = torch.argsort(digits.targets, stable=True)
    assert torch.allclose(found.inputs, digits.inputs[order], atol=1 / 255)
    assert torch.equal(found.targets, digits.targets[order])
    colours = torch.rand(2, 3, 4, 5)
    path = run(files.SaveImages, {"folder": "plain", "count": 1}, ctx, images=colours)
    assert [item.name for item in Path(path).iterdir()] == ["0000.png"]
    with Image.open(Path(path) / "0000.png") as picture:
        pixels = torch.tensor(np.array(picture))
    assert torch.equal(pixels.permute(2, 0, 1), (colours[0] * 255).round().to(torch.uint8))
    with pytest.raises(ValueError, match="images are"):
        run(files.SaveImages, None, ctx, images=torch.ones(2, 2))
    ctx.left = 1
    with pytest.raises(RunStopped):
        run(files.SaveImages, {"folder": "stopped"}, ctx, images=digits)
    assert len(list((ctx.files_dir / "stopped").rglob("*.png"))) == 1


def test_a_text_is_written(ctx: Ctx) -> None:
    assert Path(run(files.SaveText, None, ctx, value="Grüße")).read_text("utf-8") == "Grüße"
    assert Path(run(files.SaveText, None, ctx, value=1.5)).read_text() == "1.5"


@pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "", "link/out.txt"])
def test_nothing_is_written_outside_the_users_folder(ctx: Ctx, path: str, tmp_path: Path) -> None:
    (ctx.files_dir / "link").symlink_to(tmp_path)
    before = sorted(tmp_path.iterdir())
    for cls, inputs in (
        (files.SaveText, {"value": "x"}),
        (files.SaveModel, {"model": network()}),
        (files.SaveCsv, {"value": torch.ones(2)}),
        (files.SaveTensor, {"tensor": torch.ones(2)}),
    ):
        with pytest.raises(NodeError, match=r"leads out of the folder|no place for a file"):
            run(cls, {"path": path}, ctx, **inputs)
    with pytest.raises(NodeError):
        run(files.SaveImages, {"folder": path}, ctx, images=torch.ones(1, 1, 2, 2))
    assert sorted(tmp_path.iterdir()) == before
