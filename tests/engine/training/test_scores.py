import re
from xml.etree import ElementTree

import pytest
import sklearn.metrics
import torch

from codefy_engine.training.confusion_picture import confusion_svg
from codefy_engine.training.scores import accuracy, confusion_matrix, macro_f1, regression_scores


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_scikit_learns(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    true = torch.randint(0, 6, (200,), generator=generator)
    predicted = torch.where(
        torch.rand(200, generator=generator) < 0.6, true, torch.randint(0, 6, (200,), generator=generator)
    )
    # A class that is neither there nor predicted.
    matrix = confusion_matrix(predicted, true, 7)
    assert matrix.tolist() == sklearn.metrics.confusion_matrix(true, predicted, labels=range(7)).tolist()
    assert accuracy(matrix) == pytest.approx(sklearn.metrics.accuracy_score(true, predicted))
    assert macro_f1(matrix) == pytest.approx(sklearn.metrics.f1_score(true, predicted, average="macro"))


def test_regression_scores_equal_scikit_learns() -> None:
    generator = torch.Generator().manual_seed(0)
    targets = torch.randn(50, 1, generator=generator)
    outputs = targets + 0.3 * torch.randn(50, 1, generator=generator)
    scores = regression_scores(outputs, targets)
    assert scores["mae"] == pytest.approx(sklearn.metrics.mean_absolute_error(targets, outputs))
    assert scores["rmse"] == pytest.approx(sklearn.metrics.root_mean_squared_error(targets, outputs))
    assert scores["r2"] == pytest.approx(sklearn.metrics.r2_score(targets, outputs))


def test_scores_of_nothing() -> None:
    empty = torch.zeros((3, 3), dtype=torch.int64)
    assert (accuracy(empty), macro_f1(empty)) == (0.0, 0.0)
    assert regression_scores(torch.zeros(2, 1), torch.zeros(2, 1))["r2"] == 0.0


def test_a_class_outside_the_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="predicted class lies outside 0 to 1"):
        confusion_matrix(torch.tensor([2]), torch.tensor([0]), 2)


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_names_classes_axes_and_counts() -> None:
    names = ["cat", "dog & <cow>"]
    svg = confusion_svg([[12, 3], [0, 7]], names, title="Confusion matrix: pets", subtitle="accuracy 0.864")
    texts = _texts(svg)
    assert texts[:2] == ["Confusion matrix: pets", "accuracy 0.864"]
    assert {"predicted", "true"} <= set(texts)
    assert [text for text in texts if text.isdigit()] == ["12", "3", "0", "7"]
    assert texts.count("dog & <cow>dog & <cow>") == 2  # each with its tip
    assert "prefers-color-scheme:dark" in svg
    assert "dog &amp; &lt;cow&gt; taken for cat: 0 of 7" in svg


@pytest.mark.parametrize(
    "names", [[str(i) for i in range(10)], [f"a rather long class {i}" for i in range(30)]]
)
def test_everything_lies_inside_the_picture(names: list[str]) -> None:
    count = len(names)
    svg = confusion_svg([[1234] * count for _ in range(count)], names, title="T" * 60)
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert x + float(rect.attrib["width"]) <= width
        assert y + float(rect.attrib["height"]) <= height
    for x, y in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", svg):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_a_matrix_that_does_not_fit_its_names() -> None:
    with pytest.raises(ValueError, match="one name per class"):
        confusion_svg([[1]], ["a", "b"], title="t")
