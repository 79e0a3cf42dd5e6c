"""Classical nodes give what scikit-learn gives when it is used directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.metrics
import torch
from sklearn import (
    cluster,
    datasets,
    decomposition,
    ensemble,
    linear_model,
    manifold,
    naive_bayes,
    neighbors,
    neural_network,
    svm,
    tree,
)

from codefy_engine.nodes.base import RunStopped
from codefy_engine.nodes.builtin import classical, classical_structure, evaluation
from codefy_engine.nodes.registry import node_classes
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.sklearn_data import load_sklearn


class Ctx:
    """As much of a context as these nodes ask for."""

    device = "cpu"
    seed = 3

    def __init__(self, stop_after: int = 10**9) -> None:
        self.left = stop_after
        self.told: dict[str, float] = {}

    @property
    def stopped(self) -> bool:
        self.left -= 1
        return self.left < 0

    def check_stop(self) -> None:
        if self.stopped:
            raise RunStopped

    def progress(self, *args: Any, **kwargs: Any) -> None:
        pass

    def metric(self, name: str, value: float, step: int, scope: str = "step") -> None:
        self.told[name] = value

    def metrics(self, points: list[Any]) -> None:
        self.told |= {point.name: point.value for point in points}


def run(cls: Any, params: dict[str, Any] | None = None, ctx: Any = None, /, **inputs: Any) -> Any:
    return cls.create(params, **inputs).run(ctx or Ctx())


IRIS = load_sklearn("iris")
DIABETES = load_sklearn("diabetes").select(torch.arange(120))

CLASSIFIERS: dict[str, tuple[dict[str, Any], Any]] = {
    "LogisticRegression": ({"c": 2.0}, linear_model.LogisticRegression(C=2.0, max_iter=1000)),
    "SupportVectorMachine": ({"gamma": 0.3}, svm.SVC(gamma=0.3)),
    "NearestNeighbours": ({"by_distance": True}, neighbors.KNeighborsClassifier(weights="distance")),
    "DecisionTree": ({"max_depth": 2}, tree.DecisionTreeClassifier(max_depth=2, random_state=3)),
    "RandomForest": ({"trees": 15}, ensemble.RandomForestClassifier(15, random_state=3)),
    "GradientBoosting": ({"trees": 5}, ensemble.GradientBoostingClassifier(n_estimators=5, random_state=3)),
    "NaiveBayes": ({}, naive_bayes.GaussianNB()),
    "SklearnMLP": (
        {"hidden": [8], "max_iter": 5},
        neural_network.MLPClassifier((8,), max_iter=5, random_state=3),
    ),
}
REGRESSORS: dict[str, tuple[dict[str, Any], Any]] = {
    "SupportVectorMachine": ({"kernel": "linear"}, svm.SVR(kernel="linear")),
    "NearestNeighbours": ({"neighbours": 3}, neighbors.KNeighborsRegressor(3)),
    "DecisionTree": ({"min_leaf": 5}, tree.DecisionTreeRegressor(min_samples_leaf=5, random_state=3)),
    "RandomForest": ({"trees": 12}, ensemble.RandomForestRegressor(12, random_state=3)),
    "GradientBoosting": ({"trees": 5}, ensemble.GradientBoostingRegressor(n_estimators=5, random_state=3)),
    "LinearRegression": ({}, linear_model.LinearRegression()),
    "SklearnMLP": (
        {"hidden": [8], "max_iter": 5},
        neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=5, random_state=3),
    ),
}


def test_every_estimator_is_tried() -> None:
    assert {cls.spec.definition.type for cls in node_classes(classical)} == {*CLASSIFIERS, *REGRESSORS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_answers_as_scikit_learn_does(name: str) -> None:
    params, theirs = CLASSIFIERS[name]
    ctx = Ctx()
    model = run(getattr(classical, name), params, train=IRIS)
    samples, targets = IRIS.inputs.double().numpy(), IRIS.targets.numpy()
    theirs.fit(samples, targets)
    expected = theirs.predict(samples)
    assert (model(IRIS.inputs).argmax(1).numpy() == expected).all()
    judged = run(evaluation.Evaluate, {"picture": False}, ctx, data=IRIS, model=model)["metrics"]
    assert judged["accuracy"] == pytest.approx(sklearn.metrics.accuracy_score(targets, expected))
    if hasattr(theirs, "predict_proba"):
        shares = theirs.predict_proba(samples)
        assert np.allclose(model(IRIS.inputs).softmax(1).numpy(), shares, atol=1e-5)
    assert model.codefy_summary().endswith("fitted")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_answers_as_scikit_learn_does(name: str) -> None:
    params, theirs = REGRESSORS[name]
    model = run(getattr(classical, name), params, train=DIABETES)
    samples, targets = DIABETES.inputs.double().numpy(), DIABETES.targets.numpy().ravel()
    expected = theirs.fit(samples, targets).predict(samples)
    found = run(evaluation.Predict, None, data=DIABETES, model=model)
    assert np.allclose(found["answers"].numpy().ravel(), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("penalty", "make"),
    [("ridge", linear_model.Ridge), ("lasso", linear_model.Lasso), ("elastic", linear_model.ElasticNet)],
)
def test_a_penalty_is_that_of_scikit_learn(penalty: str, make: Any) -> None:
    model = run(classical.LinearRegression, {"penalty": penalty, "alpha": 0.2}, train=DIABETES)
    samples, targets = DIABETES.inputs.double().numpy(), DIABETES.targets.numpy().ravel()
    expected = make(alpha=0.2).fit(samples, targets).predict(samples)
    assert np.allclose(model(DIABETES.inputs).numpy().ravel(), expected, rtol=1e-4)


def test_what_does_not_fit_is_said_in_words() -> None:
    with pytest.raises(ValueError, match="needs classes as targets"):
        run(classical.NaiveBayes, None, train=DIABETES)
    with pytest.raises(ValueError, match="needs numbers as targets"):
        run(classical.LinearRegression, None, train=IRIS)
    empty = TensorDataset(inputs=torch.zeros(0, 2), targets=torch.zeros(0, dtype=torch.int64))
    with pytest.raises(ValueError, match="data set is empty"):
        run(classical.DecisionTree, None, train=empty)


@pytest.mark.parametrize(("name", "after"), [("RandomForest", 3), ("GradientBoosting", 4)])
def test_growing_trees_stops_between_two(name: str, after: int) -> None:
    ctx = Ctx(stop_after=after)
    with pytest.raises(RunStopped):
        run(getattr(classical, name), {"trees": 10_000}, ctx, train=IRIS)


def test_a_class_that_was_not_seen_gets_no_chance() -> None:
    some = TensorDataset(inputs=IRIS.inputs[50:], targets=IRIS.targets[50:], class_names=IRIS.class_names)
    scores = run(classical.NaiveBayes, None, train=some)(IRIS.inputs)
    assert scores.shape == (150, 3)
    assert bool((scores[:, 0] == -20).all())


def test_components_and_their_shares_are_those_of_scikit_learn() -> None:
    found = run(classical_structure.PCA, {"components": 2}, data=IRIS)
    theirs = decomposition.PCA(2, random_state=3)
    expected = theirs.fit_transform(IRIS.inputs.double().numpy())
    assert np.allclose(found["dataset"].inputs, expected, atol=1e-4)
    assert np.allclose(found["directions"], theirs.components_, atol=1e-5)
    assert np.allclose(found["explained"], theirs.explained_variance_ratio_, atol=1e-6)
    assert torch.equal(found["dataset"].targets, IRIS.targets)
    with pytest.raises(ValueError, match="no 9 components"):
        run(classical_structure.PCA, {"components": 9}, data=IRIS)


def test_a_map_is_that_of_scikit_learn() -> None:
    some = IRIS.select(torch.arange(0, 150, 5))
    found = run(classical_structure.TSNE, {"perplexity": 5.0}, data=some)
    theirs = manifold.TSNE(perplexity=5.0, random_state=3, init="pca")
    assert np.allclose(found.inputs, theirs.fit_transform(some.inputs.double().numpy()), atol=1e-3)
    with pytest.raises(ValueError, match="needs more than the 30 samples"):
        run(classical_structure.TSNE, {"perplexity": 30.0}, data=some)


def test_groups_are_those_of_scikit_learn() -> None:
    samples = IRIS.inputs.double().numpy()
    ctx = Ctx()
    found = run(classical_structure.KMeans, {"clusters": 3}, ctx, data=IRIS)
    theirs = cluster.KMeans(3, n_init=10, random_state=3).fit(samples)
    assert (found["groups"].numpy() == theirs.labels_).all()
    assert np.allclose(found["centers"], theirs.cluster_centers_, atol=1e-4)
    silhouette = sklearn.metrics.silhouette_score(samples, theirs.labels_)
    assert found["metrics"] == {
        "inertia": pytest.approx(theirs.inertia_),
        "silhouette": pytest.approx(silhouette),
    }
    assert ctx.told == found["metrics"]
    found = run(classical_structure.DBSCAN, {"radius": 0.6, "neighbours": 4}, data=IRIS)
    labels = cluster.DBSCAN(eps=0.6, min_samples=4).fit(samples).labels_
    assert (found["groups"].numpy() == labels).all()
    assert found["metrics"] == {"clusters": labels.max() + 1, "outliers": (labels < 0).sum()}
    with pytest.raises(ValueError, match="into 999 groups"):
        run(classical_structure.KMeans, {"clusters": 999}, data=IRIS)


def test_scores_are_those_of_scikit_learn() -> None:
    given = torch.tensor([0, 1, 2, 2, 1, 0, 0, 3])
    right = torch.tensor([0, 1, 1, 2, 1, 2, 0, 0])
    ctx = Ctx()
    found = run(evaluation.ClassScores, {"name": "mine"}, ctx, predicted=given, targets=right)
    metrics = sklearn.metrics
    kinds: dict[str, Any] = {"average": "macro", "zero_division": 0}
    assert found["metrics"] == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(right, given),
            "precision": metrics.precision_score(right, given, **kinds),
            "recall": metrics.recall_score(right, given, **kinds),
            "f1": metrics.f1_score(right, given, **kinds),
        }
    )
    assert found["confusion"].tolist() == metrics.confusion_matrix(right, given).tolist()
    assert ctx.told["mine_accuracy"] == found["metrics"]["accuracy"]
    numbers, aims = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.5, 2.0, 3.5])
    assert run(evaluation.NumberScores, None, predicted=numbers, targets=aims) == pytest.approx(
        {
            "mae": metrics.mean_absolute_error(aims, numbers),
            "rmse": metrics.mean_squared_error(aims, numbers) ** 0.5,
            "r2": metrics.r2_score(aims.double(), numbers.double()),
        }
    )
    assert run(evaluation.GroupScores, None, groups=given, targets=right) == pytest.approx(
        {
            "adjusted_rand": metrics.adjusted_rand_score(right, given),
            "mutual_information": metrics.normalized_mutual_info_score(right, given),
        }
    )
    with pytest.raises(ValueError, match="3 answers cannot be compared with 8 targets"):
        run(evaluation.ClassScores, None, predicted=numbers, targets=right)


def test_a_binary_model_is_judged_by_its_loss() -> None:
    from codefy_engine.training.loss_functions import BinaryLoss

    circles = datasets.make_circles(40, random_state=0)
    data = TensorDataset(
        inputs=torch.tensor(circles[0]).float(), targets=torch.tensor(circles[1]), class_names=("a", "b")
    )
    model = torch.nn.Linear(2, 1).eval()
    ctx = Ctx()
    judged = run(
        evaluation.Evaluate, {"picture": False}, ctx, data=data, model=model, loss=BinaryLoss(logits=True)
    )["metrics"]
    right = (model(data.inputs).squeeze(1) >= 0).long() == data.targets
    assert judged["accuracy"] == pytest.approx(float(right.float().mean()))
    assert ctx.told["test_accuracy"] == judged["accuracy"]


def test_predicting_stops_between_two_batches() -> None:
    model = torch.nn.Linear(4, 3).eval()
    with pytest.raises(RunStopped):
        run(evaluation.Predict, None, Ctx(stop_after=0), data=IRIS, model=model)
    found = run(evaluation.Predict, None, data=IRIS, model=model)
    assert torch.equal(found["scores"], model(IRIS.inputs))
    assert torch.allclose(found["shares"].sum(1), torch.ones(150))
    assert torch.equal(found["answers"], model(IRIS.inputs).argmax(1))
