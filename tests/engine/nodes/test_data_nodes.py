"""Data nodes give what scikit-learn, Pillow and torch give when they are used directly."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
import torch
from PIL import Image

from codefy_engine.nodes.base import NodeError, RunStopped
from codefy_engine.nodes.builtin import (
    data,
    data_files,
    data_hubs,
    data_synthetic,
    data_transforms,
)
from codefy_engine.training import hubs, sklearn_data
from codefy_engine.training.data import Batches, Batching, TensorDataset


@dataclass
class Ctx:
    """As much of a context as these nodes ask for."""

    files_dir: Path = Path()
    seed: int | None = 3
    device: str = "cpu"
    stop_after: int = 10**9
    warnings: list[Any] = field(default_factory=list)

    def check_stop(self) -> None:
        self.stop_after -= 1
        if self.stop_after < 0:
            raise RunStopped

    def progress(self, *args: Any, **kwargs: Any) -> None:
        pass

    def reading(self, path: Path) -> None:
        pass

    def warn(self, reason: Any) -> None:
        self.warnings.append(reason)


def run(cls: Any, params: dict[str, Any] | None = None, ctx: Any = None, /, **inputs: Any) -> Any:
    return cls.create(params, **inputs).run(ctx or Ctx())


def toy(count: int = 12) -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    return TensorDataset(
        inputs=torch.randn(count, 3, generator=generator) * 5 + 2,
        targets=torch.arange(count) % 3,
        class_names=("a", "b", "c"),
    )


def test_linnerud_has_three_numbers_as_targets() -> None:
    found = run(data.SklearnDataset, {"name": "linnerud"})
    expected = sklearn.datasets.load_linnerud()
    assert np.allclose(found.inputs, expected.data)
    assert np.allclose(found.targets, expected.target)
    assert found.feature_names == tuple(expected.feature_names)


@pytest.mark.parametrize(
    ("cls", "params", "make"),
    [
        (
            data_synthetic.Moons,
            {"samples": 50, "noise": 0.2},
            lambda: sklearn.datasets.make_moons(50, noise=0.2, random_state=3),
        ),
        (
            data_synthetic.Circles,
            {"samples": 40, "factor": 0.3, "noise": 0.05},
            lambda: sklearn.datasets.make_circles(40, noise=0.05, factor=0.3, random_state=3),
        ),
        (
            data_synthetic.Blobs,
            {"samples": 30, "classes": 4, "features": 3, "spread": 0.5},
            lambda: sklearn.datasets.make_blobs(30, 3, centers=4, cluster_std=0.5, random_state=3),
        ),
        (
            data_synthetic.LinearData,
            {"samples": 20, "features": 4, "informative": 2, "noise": 0.1},
            lambda: sklearn.datasets.make_regression(
                20, n_features=4, n_informative=2, noise=0.1, random_state=3
            ),
        ),
    ],
)
def test_made_data_is_scikit_learns(cls: Any, params: dict[str, Any], make: Any) -> None:
    found = run(cls, params)
    inputs, targets = make()
    assert np.allclose(found.inputs, inputs, atol=1e-5)
    assert np.allclose(found.targets.flatten(), targets, rtol=1e-4)
    assert torch.equal(run(cls, {**params, "seed": 3}, Ctx(seed=9)).inputs, found.inputs)
    assert not torch.equal(run(cls, params, Ctx(seed=9)).inputs, found.inputs)


def test_spirals_wind_as_often_as_asked() -> None:
    found = run(data_synthetic.Spirals, {"samples": 200, "arms": 4, "turns": 2.0, "noise": 0.0})
    assert found.class_count == 4
    arm = found.inputs[found.targets == 0]
    radius = arm.norm(dim=1)
    assert radius[-1] == pytest.approx(1.0, abs=1e-5)
    assert bool((radius.diff() > 0).all())
    angle = torch.atan2(arm[:, 1], arm[:, 0])
    steps = torch.remainder(angle.diff(), 2 * math.pi)
    assert float(steps.sum()) == pytest.approx(2 * math.pi * 2 * 49 / 50, rel=1e-3)


def test_a_sine_series_is_cut_into_what_was_and_what_comes() -> None:
    found = run(data_synthetic.SineSeries, {"samples": 60, "periods": [12], "window": 8, "horizon": 2})
    t = torch.arange(60, dtype=torch.float64)
    series = torch.sin(2 * math.pi * t / 12).float()
    assert torch.allclose(found["series"], series, atol=1e-6)
    dataset = found["dataset"]
    assert dataset.inputs.shape == (51, 8, 1)
    assert torch.equal(dataset.inputs[5, :, 0], found["series"][5:13])
    assert torch.equal(dataset.targets[5], found["series"][13:15])
    with pytest.raises(ValueError, match="no window of 50"):
        run(data_synthetic.SineSeries, {"samples": 40, "window": 50})


def write_csv(path: Path, text: str) -> Ctx:
    (path / "t.csv").write_text(text, encoding="utf-8")
    return Ctx(files_dir=path)


def test_a_csv_file_becomes_samples_with_classes_or_numbers(tmp_path: Path) -> None:
    ctx = write_csv(tmp_path, "length,colour,width,kind\n1.5,red,2,cat\n\n2,blue,3,dog\n3.5,red,4,cat\n")
    found = run(data_files.CsvDataset, {"file": "t.csv"}, ctx)
    assert found.feature_names == ("length", "colour=blue", "colour=red", "width")
    assert found.inputs.tolist() == [[1.5, 0, 1, 2], [2, 1, 0, 3], [3.5, 0, 1, 4]]
    assert (found.class_names, found.targets.tolist()) == (("cat", "dog"), [0, 1, 0])
    found = run(data_files.CsvDataset, {"file": "t.csv", "target": "width", "features": "length, 1"}, ctx)
    assert found.inputs.tolist() == [[1.5, 1.5], [2, 2], [3.5, 3.5]]
    assert found.targets.tolist() == [[2], [3], [4]]
    found = run(
        data_files.CsvDataset, {"file": "t.csv", "target": "width", "texts": "drop", "task": "classes"}, ctx
    )
    assert (found.feature_names, found.class_names) == (("length",), ("2", "3", "4"))
    ctx = write_csv(tmp_path, "1;10\n2;9\n")
    found = run(
        data_files.CsvDataset, {"file": "t.csv", "header": False, "delimiter": ";", "task": "classes"}, ctx
    )
    assert (found.class_names, found.targets.tolist()) == (("9", "10"), [1, 0])


def test_missing_values_are_refused_left_out_or_filled(tmp_path: Path) -> None:
    ctx = write_csv(tmp_path, "a,b,y\n1,2,3\n,4,5\n3,NA,7\n")
    with pytest.raises(NodeError, match=r"line 3 of t.csv has nothing in column 'a'"):
        run(data_files.CsvDataset, {"file": "t.csv"}, ctx)
    assert run(data_files.CsvDataset, {"file": "t.csv", "missing": "drop"}, ctx).inputs.tolist() == [[1, 2]]
    filled = run(data_files.CsvDataset, {"file": "t.csv", "missing": "mean"}, ctx)
    assert filled.inputs.tolist() == [[1, 2], [2, 4], [3, 3]]


@pytest.mark.parametrize(
    ("text", "params", "words"),
    [
        ("a,b\n1,2\n1,2,3\n", {}, "line 3 of t.csv has 3 values; the header has 2"),
        ("1,2\n3\n", {"header": False}, "line 2 of t.csv has 1 values; line 1 has 2"),
        ("", {}, "t.csv is empty"),
        ("a,b\n", {}, "has a header and no rows"),
        ("a,a\n1,2\n", {}, "two columns called 'a'"),
        ("a,y\nx,1\n", {"texts": "error"}, "line 2 of t.csv: 'x' in column 'a' is no number"),
        ("a,y\n1,x\n", {"task": "numbers"}, "line 2 of t.csv: 'x' in column 'y' is no number"),
        ("a,y\n1,2\n", {"target": "z"}, "no column 'z'; it has a, y"),
        ('a,y\n1,"2\n', {}, "no CSV file at line 2"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(
    tmp_path: Path, text: str, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(NodeError, match=words.replace("(", r"\(")):
        run(data_files.CsvDataset, {"file": "t.csv", **params}, write_csv(tmp_path, text))


NINE = "a,y\n" + "".join(f"{number},1\n" for number in range(9))


@pytest.mark.parametrize("texts", ["one_hot", "drop"])
@pytest.mark.parametrize("cell", ["1.5x", "inf", "-Infinity", "1_000", "1\0"])
def test_a_slip_in_a_column_of_numbers_is_no_category(tmp_path: Path, cell: str, texts: str) -> None:
    ctx = write_csv(tmp_path, f"{NINE}{cell},1\n")
    with pytest.raises(NodeError) as caught:
        run(data_files.CsvDataset, {"file": "t.csv", "texts": texts}, ctx)
    assert f"line 11 of t.csv: {cell!r} in column 'a'" in str(caught.value)
    assert "9 of the 10 cells are numbers" in str(caught.value)


def test_a_slip_in_a_target_of_numbers_makes_no_classes_unless_they_are_asked_for(tmp_path: Path) -> None:
    ctx = write_csv(tmp_path, f"{NINE}9,2x\n")
    with pytest.raises(NodeError, match=r"line 11 of t.csv: '2x' in column 'y'"):
        run(data_files.CsvDataset, {"file": "t.csv"}, ctx)
    found = run(data_files.CsvDataset, {"file": "t.csv", "task": "classes"}, ctx)
    assert found.class_names == ("1", "2x")


def test_infinity_is_no_category_and_mixed_texts_still_are(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match=r"line 3 of t.csv: 'inf' in column 'a'"):
        run(data_files.CsvDataset, {"file": "t.csv"}, write_csv(tmp_path, "a,y\nred,1\ninf,2\n"))
    found = run(data_files.CsvDataset, {"file": "t.csv"}, write_csv(tmp_path, "a,y\n1,1\n3+,2\n"))
    assert found.feature_names == ("a=1", "a=3+")


def test_files_are_looked_for_below_the_users_folder_only(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    ctx = Ctx(files_dir=tmp_path / "files")
    with pytest.raises(NodeError, match="leads out of the folder"):
        run(data_files.CsvDataset, {"file": "../t.csv"}, ctx)
    with pytest.raises(NodeError, match=r"there is no t.csv among your files"):
        run(data_files.CsvDataset, {"file": "t.csv"}, ctx)
    with pytest.raises(NodeError, match="no file is named"):
        run(data_files.CsvDataset, {}, ctx)
    assert len(run(data_files.CsvDataset, {}, ctx, path=str(tmp_path / "t.csv"))) == 1
    with pytest.raises(NodeError, match="a file is needed"):
        run(data_files.CsvDataset, {}, ctx, path=str(tmp_path))
    (tmp_path / "bin").write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(NodeError, match="no text in UTF-8"):
        run(data_files.CsvDataset, {}, ctx, path=str(tmp_path / "bin"))


def animals(folder: Path) -> Ctx:
    for name, level in (("cat", 0), ("dog", 255)):
        (folder / "animals" / name).mkdir(parents=True)
        for index in range(2):
            Image.new("RGB", (6, 4), (level, 51, 0)).save(folder / "animals" / name / f"{index}.png")
    return Ctx(files_dir=folder)


def test_an_image_folder_has_a_class_per_folder(tmp_path: Path) -> None:
    ctx = animals(tmp_path)
    found = run(data_files.ImageFolder, {"folder": "animals", "height": 4, "width": 6}, ctx)
    assert found.inputs.shape == (4, 3, 4, 6)
    assert (found.class_names, found.targets.tolist()) == (("cat", "dog"), [0, 0, 1, 1])
    assert torch.allclose(found.inputs[2, :, 0, 0], torch.tensor([1.0, 0.2, 0.0]))
    grey = run(
        data_files.ImageFolder, {"folder": "animals", "grey": True, "height": 2, "width": 2, "limit": 1}, ctx
    )
    with Image.open(tmp_path / "animals/dog/0.png") as picture:
        pixels = np.asarray(picture.convert("L").resize((2, 2), Image.Resampling.BILINEAR))
    assert np.allclose(grey.inputs[1, 0], pixels / 255)
    assert len(grey) == 2


def test_grey_with_16_bits_keeps_its_levels(tmp_path: Path) -> None:
    (tmp_path / "deep" / "one").mkdir(parents=True)
    levels = np.array([[0, 13107], [32768, 65535]], dtype=np.uint16)
    Image.fromarray(levels).save(tmp_path / "deep/one/a.png")
    Image.fromarray(levels.astype(np.int32)).save(tmp_path / "deep/one/b.tif")
    for grey, channels in ((True, 1), (False, 3)):
        params = {"folder": "deep", "height": 2, "width": 2, "grey": grey}
        found = run(data_files.ImageFolder, params, Ctx(files_dir=tmp_path))
        expected = np.broadcast_to(levels / 65535, (2, channels, 2, 2))
        assert found.inputs.shape == expected.shape
        assert np.allclose(found.inputs.numpy(), expected, atol=1e-6)


def test_listing_a_large_folder_stops(tmp_path: Path) -> None:
    folder = tmp_path / "many" / "one"
    folder.mkdir(parents=True)
    for index in range(1100):
        (folder / f"{index}.txt").touch()
    ctx = Ctx(files_dir=tmp_path, stop_after=3)
    with pytest.raises(RunStopped):
        run(data_files.ImageFolder, {"folder": "many"}, ctx)


def test_a_broken_image_is_named_or_left_out_with_a_warning(tmp_path: Path) -> None:
    ctx = animals(tmp_path)
    (tmp_path / "animals/cat/0.png").write_bytes(b"not a picture")
    with pytest.raises(NodeError, match=r"animals/cat/0.png: 0.png is not an image that can be read"):
        run(data_files.ImageFolder, {"folder": "animals"}, ctx)
    whole = (tmp_path / "animals/dog/0.png").read_bytes()
    (tmp_path / "animals/dog/0.png").write_bytes(whole[: len(whole) // 2])
    found = run(data_files.ImageFolder, {"folder": "animals", "broken": "skip"}, ctx)
    assert found.targets.tolist() == [0, 1]
    (warning,) = ctx.warnings
    assert (warning.code, warning.params["count"]) == ("files_skipped", 2)
    assert warning.params["files"] == "cat/0.png, dog/0.png"
    (tmp_path / "empty").mkdir()
    with pytest.raises(NodeError, match="one folder per class"):
        run(data_files.ImageFolder, {"folder": "empty"}, ctx)


def test_reading_images_stops_within_one(tmp_path: Path) -> None:
    ctx = animals(tmp_path)
    ctx.stop_after = 3
    with pytest.raises(RunStopped):
        run(data_files.ImageFolder, {"folder": "animals"}, ctx)


def test_a_text_file_and_typed_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Grüße\n", encoding="utf-8")
    ctx = Ctx(files_dir=tmp_path)
    assert run(data_files.TextFile, {"file": "a.txt"}, ctx) == "Grüße\n"
    assert run(data_files.TextFile, {"file": "a.txt", "limit": 3}, ctx) == "Grü"
    typed = run(data_files.TensorByHand, {"values": [[1, 0], [2, 3]], "dtype": "int64"})
    assert torch.equal(typed, torch.tensor([[1, 0], [2, 3]]))
    assert run(data_files.TensorByHand, {"values": 2.5}).shape == ()
    with pytest.raises(ValueError, match="lists of equal length"):
        data_files.TensorByHand.create({"values": [[1], [2, 3]]})


@pytest.mark.parametrize("method", ["standard", "range"])
def test_data_is_scaled_by_the_training_part(method: str) -> None:
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    train, test = toy(), toy(6)
    scaler = StandardScaler() if method == "standard" else MinMaxScaler()
    scaler.fit(train.inputs)
    found = run(data_transforms.NormalizeData, {"method": method}, train=train, test=test)
    assert np.allclose(found["train"].inputs, scaler.transform(train.inputs), atol=1e-5)
    assert np.allclose(found["test"].inputs, scaler.transform(test.inputs), atol=1e-5)
    assert found["validation"] is None


def test_images_may_be_scaled_by_channel() -> None:
    images = TensorDataset(inputs=torch.randn(5, 2, 3, 3) * 4 + 1, targets=torch.zeros(5, 1))
    found = run(data_transforms.NormalizeData, {"per": "channel"}, train=images)["train"].inputs
    assert torch.allclose(found.mean((0, 2, 3)), torch.zeros(2), atol=1e-6)
    assert torch.allclose(found.std((0, 2, 3), correction=0), torch.ones(2), atol=1e-5)


def test_samples_are_taken_joined_and_folded() -> None:
    dataset = toy()
    assert torch.equal(
        run(data_transforms.TakeSamples, {"count": 4}, dataset=dataset).inputs, dataset.inputs[:4]
    )
    chosen = run(data_transforms.TakeSamples, {"count": 5, "random": True}, dataset=dataset)
    assert len(chosen) == 5 and not torch.equal(chosen.inputs, dataset.inputs[:5])
    assert len(run(data_transforms.TakeSamples, {"count": 99}, dataset=dataset)) == 12
    joined = run(data_transforms.JoinDatasets, None, first=dataset, second=chosen)
    assert torch.equal(joined.inputs, torch.cat((dataset.inputs, chosen.inputs)))
    other = TensorDataset(inputs=torch.zeros(2, 3), targets=torch.zeros(2, 1))
    with pytest.raises(ValueError, match="differ in kind"):
        run(data_transforms.JoinDatasets, None, first=dataset, second=other)
    tested: list[list[float]] = []
    for fold in (1, 2, 3):
        parts = run(data_transforms.CrossValidationFold, {"folds": 3, "fold": fold}, dataset=dataset)
        assert parts["test"].targets.bincount().tolist() in ([1, 1, 2], [1, 2, 1], [2, 1, 1])
        assert len(parts["train"]) == 8
        tested += parts["test"].inputs.tolist()
    assert sorted(tested) == sorted(dataset.inputs.tolist())
    with pytest.raises(ValueError, match="no part 4 of 3"):
        run(data_transforms.CrossValidationFold, {"folds": 3, "fold": 4}, dataset=dataset)


def images(count: int = 8) -> TensorDataset:
    pixels = torch.arange(count * 25, dtype=torch.float32).reshape(count, 1, 5, 5) + 1
    return TensorDataset(inputs=pixels, targets=torch.arange(count) % 2)


def epoch_of(dataset: TensorDataset, epoch: int = 0, start: int = 0, seed: int = 0) -> list[torch.Tensor]:
    batches = Batches(dataset, Batching(batch_size=4), device=torch.device("cpu"), seed=seed)
    return [inputs for inputs, _ in batches.epoch(epoch, start=start)]


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (data_transforms.AugmentFlip, {}),
        (data_transforms.AugmentShift, {"pixels": 2}),
        (data_transforms.AugmentRotate, {"degrees": 40.0, "zoom": 0.2}),
        (data_transforms.AugmentNoise, {"deviation": 0.5}),
        (data_transforms.AugmentErase, {"size": 2, "p": 0.9}),
        (data_transforms.AugmentBrightness, {}),
    ],
)
def test_augmentation_depends_on_seed_epoch_and_batch_alone(cls: Any, params: dict[str, Any]) -> None:
    plain = images()
    altered = run(cls, params, dataset=plain)
    first = epoch_of(altered)
    assert all(batch.shape == (4, 1, 5, 5) for batch in first)
    assert not torch.equal(torch.cat(first), plain.inputs)
    assert torch.equal(epoch_of(altered, start=1)[0], first[1])
    assert not torch.equal(torch.cat(epoch_of(altered, epoch=1)), torch.cat(first))
    assert not torch.equal(torch.cat(epoch_of(altered, seed=1)), torch.cat(first))
    assert torch.equal(torch.cat(epoch_of(altered.unaltered())), plain.inputs)


def test_each_augmentation_does_what_it_says() -> None:
    plain = images().inputs
    flipped = torch.cat(epoch_of(run(data_transforms.AugmentFlip, {"p": 1.0}, dataset=images())))
    assert torch.equal(flipped, plain.flip(3))
    upside = torch.cat(
        epoch_of(run(data_transforms.AugmentFlip, {"p": 1.0, "vertical": True}, dataset=images()))
    )
    assert torch.equal(upside, plain.flip(2))
    shifted = torch.cat(epoch_of(run(data_transforms.AugmentShift, {"pixels": 1}, dataset=images())))
    padded = torch.nn.functional.pad(plain, (1, 1, 1, 1))
    for index in range(8):
        windows = [padded[index, :, y : y + 5, x : x + 5] for y in range(3) for x in range(3)]
        assert any(torch.equal(shifted[index], window) for window in windows)
    still = torch.cat(epoch_of(run(data_transforms.AugmentRotate, {"degrees": 0.0}, dataset=images())))
    assert torch.allclose(still, plain, atol=1e-3)
    erased = torch.cat(epoch_of(run(data_transforms.AugmentErase, {"size": 3, "p": 1.0}, dataset=images())))
    assert (erased == 0).sum((1, 2, 3)).tolist() == [9] * 8
    large = TensorDataset(inputs=torch.ones(400, 50), targets=torch.zeros(400, 1))
    noisy = torch.cat(epoch_of(run(data_transforms.AugmentNoise, {"deviation": 0.5}, dataset=large)))
    assert float(noisy.std()) == pytest.approx(0.5, rel=0.05)
    bright = torch.cat(
        epoch_of(
            run(data_transforms.AugmentBrightness, {"brightness": 0.3, "contrast": 0.0}, dataset=images())
        )
    )
    ratio = (bright / plain).flatten(1)
    assert torch.allclose(ratio, ratio[:, :1].expand_as(ratio), atol=1e-4)
    assert 0.7 <= float(ratio.min()) < float(ratio.max()) <= 1.3
    with pytest.raises(ValueError, match="a flip needs images"):
        epoch_of(run(data_transforms.AugmentFlip, {}, dataset=toy()))


@pytest.mark.parametrize(
    ("cls", "params", "extra"),
    [
        (data_hubs.TorchvisionDataset, {}, "vision"),
        (data_hubs.HuggingFaceDataset, {"path": "mnist"}, "hugging-face"),
    ],
)
def test_an_optional_package_that_is_missing_says_how_to_get_it(
    cls: Any, params: dict[str, Any], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torchvision.datasets", None)
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(NodeError, match=rf'pip install "codefy-engine\[{extra}\]"'):
        run(cls, params)


class _Pictures:
    """As a torchvision data set: pictures with a class each."""

    classes = ("zero", "one")

    def __init__(self, root: str, download: bool, train: bool) -> None:
        self.level = 255 if train else 0

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return Image.new("L", (4, 4), self.level), index % 2


def test_a_torchvision_set_becomes_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hubs, "optional", lambda *names: SimpleNamespace(MNIST=_Pictures))
    found = run(data_hubs.TorchvisionDataset, {"limit": 2, "size": 2}, Ctx(files_dir=tmp_path))
    assert found.inputs.shape == (2, 1, 2, 2)
    assert bool((found.inputs == 1).all())
    assert (found.class_names, found.targets.tolist()) == (("zero", "one"), [0, 1])
    with pytest.raises(RunStopped):
        run(data_hubs.TorchvisionDataset, {}, Ctx(files_dir=tmp_path, stop_after=1))


class _Rows:
    """As a data set of the Hugging Face hub."""

    column_names = ("image", "label", "size")
    features = {"label": SimpleNamespace(names=["a", "b"]), "size": SimpleNamespace()}

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return {"image": Image.new("RGB", (2, 2), (51, 0, 0)), "label": index % 2, "size": index * 0.5}


def test_a_hugging_face_set_becomes_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        hubs, "optional", lambda *names: SimpleNamespace(load_dataset=lambda *a, **k: _Rows())
    )
    found = run(data_hubs.HuggingFaceDataset, {"path": "pets"}, Ctx(files_dir=tmp_path))
    assert torch.allclose(found.inputs[0, :, 0, 0], torch.tensor([0.2, 0, 0]))
    assert (found.class_names, found.targets.tolist()) == (("a", "b"), [0, 1, 0])
    numbers = run(
        data_hubs.HuggingFaceDataset, {"path": "pets", "target_column": "size"}, Ctx(files_dir=tmp_path)
    )
    assert numbers.targets.tolist() == [[0.0], [0.5], [1.0]]
    with pytest.raises(NodeError, match="no column 'picture'; it has image, label, size"):
        run(
            data_hubs.HuggingFaceDataset, {"path": "pets", "input_column": "picture"}, Ctx(files_dir=tmp_path)
        )


def test_downloaded_sets_become_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = SimpleNamespace(
        fetch_california_housing=lambda data_home: SimpleNamespace(
            data=np.ones((4, 8)), target=np.arange(4.0), feature_names=["a"] * 8
        ),
        fetch_olivetti_faces=lambda data_home: SimpleNamespace(data=np.ones((4, 4096)), target=np.arange(4)),
        fetch_covtype=lambda data_home: SimpleNamespace(data=np.ones((4, 54)), target=np.array([1, 2, 7, 3])),
    )
    monkeypatch.setattr(sklearn_data.importlib, "import_module", lambda name: made)
    ctx = Ctx(files_dir=tmp_path)
    assert run(data_hubs.SklearnDownload, {}, ctx).targets.shape == (4, 1)
    assert run(data_hubs.SklearnDownload, {"name": "olivetti_faces"}, ctx).inputs.shape == (4, 1, 64, 64)
    assert run(data_hubs.SklearnDownload, {"name": "covtype"}, ctx).targets.tolist() == [0, 1, 6, 2]

    def offline(data_home: str) -> None:
        raise OSError("no route")

    made.fetch_covtype = offline
    with pytest.raises(NodeError, match="covtype cannot be downloaded: no route"):
        run(data_hubs.SklearnDownload, {"name": "covtype"}, ctx)


def test_a_large_table_stops(tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "y"], *([1, 2] for _ in range(2500))])
    with pytest.raises(RunStopped):
        run(data_files.CsvDataset, {"file": "t.csv"}, Ctx(files_dir=tmp_path, stop_after=2))
