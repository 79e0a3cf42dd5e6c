"""Classical methods and the judging of models: scikit-learn used directly."""

from __future__ import annotations

from typing import Any

import sklearn.metrics
import torch
from sklearn import (
    cluster,
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
from torch import nn

from codefy_engine.training.sklearn_data import load_sklearn

from .case import SEED, Case, Place

IRIS = load_sklearn("iris").select(torch.arange(0, 150, 3))
DIABETES = load_sklearn("diabetes").select(torch.arange(60))
SAMPLES = IRIS.inputs.double().numpy()
CLASSES = IRIS.targets.numpy()
TABLE = DIABETES.inputs.double().numpy()
NUMBERS = DIABETES.targets.numpy().ravel()


def classifier(type: str, theirs: Any, /, **params: Any) -> Case:
    """The same answers, and the same shares where scikit-learn has them."""

    def expected(place: Place) -> dict[str, torch.Tensor]:
        fitted = theirs.fit(SAMPLES, CLASSES)
        answers = {"answers": torch.as_tensor(fitted.predict(SAMPLES))}
        if hasattr(fitted, "predict_proba"):
            answers["shares"] = torch.as_tensor(fitted.predict_proba(SAMPLES)).float()
        return answers

    def see(outputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        scores = outputs["model"](IRIS.inputs)
        found = {"answers": scores.argmax(1)}
        if hasattr(theirs, "predict_proba"):
            found["shares"] = scores.softmax(1)
        return found

    return Case(type, expected, params, {"train": IRIS}, see=see, close=1e-5)


def regressor(type: str, theirs: Any, /, **params: Any) -> Case:
    return Case(
        type,
        lambda place: torch.as_tensor(theirs.fit(TABLE, NUMBERS).predict(TABLE)).float(),
        params,
        {"train": DIABETES},
        see=lambda outputs: outputs["model"](DIABETES.inputs).flatten(),
        close=1e-4,
    )


ESTIMATORS = [
    classifier("LogisticRegression", linear_model.LogisticRegression(C=2.0, max_iter=1000), c=2.0),
    classifier("SupportVectorMachine", svm.SVC(gamma=0.3), gamma=0.3),
    classifier(
        "NearestNeighbours",
        neighbors.KNeighborsClassifier(3, weights="distance"),
        neighbours=3,
        by_distance=True,
    ),
    classifier("DecisionTree", tree.DecisionTreeClassifier(max_depth=2, random_state=SEED), max_depth=2),
    classifier("RandomForest", ensemble.RandomForestClassifier(6, random_state=SEED), trees=6),
    classifier(
        "GradientBoosting", ensemble.GradientBoostingClassifier(n_estimators=3, random_state=SEED), trees=3
    ),
    classifier("NaiveBayes", naive_bayes.GaussianNB()),
    classifier(
        "SklearnMLP",
        neural_network.MLPClassifier(
            (4,), solver="adam", max_iter=1000, learning_rate_init=0.05, random_state=SEED
        ),
        hidden=[4],
        max_iter=1000,
        lr=0.05,
    ),
    regressor("LinearRegression", linear_model.LinearRegression()),
    regressor("LinearRegression", linear_model.Ridge(0.2), penalty="ridge", alpha=0.2),
    regressor("SupportVectorMachine", svm.SVR(kernel="linear"), kernel="linear"),
    regressor("DecisionTree", tree.DecisionTreeRegressor(min_samples_leaf=5, random_state=SEED), min_leaf=5),
]


def components(place: Place) -> dict[str, torch.Tensor]:
    fitted = decomposition.PCA(2, random_state=SEED).fit(SAMPLES)
    return {
        "samples": torch.as_tensor(fitted.transform(SAMPLES)).float(),
        "directions": torch.as_tensor(fitted.components_).float(),
        "explained": torch.as_tensor(fitted.explained_variance_ratio_).float(),
    }


def groups(place: Place) -> dict[str, Any]:
    fitted = cluster.KMeans(3, n_init=2, random_state=SEED).fit(SAMPLES)
    return {
        "groups": torch.as_tensor(fitted.labels_).long(),
        "centers": torch.as_tensor(fitted.cluster_centers_).float(),
        "metrics": {
            "inertia": float(fitted.inertia_),
            "silhouette": float(sklearn.metrics.silhouette_score(SAMPLES, fitted.labels_)),
        },
    }


def crowds(place: Place) -> dict[str, Any]:
    labels = cluster.DBSCAN(eps=0.6, min_samples=4).fit(SAMPLES).labels_
    return {
        "groups": torch.as_tensor(labels).long(),
        "metrics": {"clusters": float(labels.max() + 1), "outliers": float((labels < 0).sum())},
    }


STRUCTURE = [
    Case(
        "PCA",
        components,
        {},
        {"data": IRIS},
        see=lambda outputs: {
            "samples": outputs["dataset"].inputs,
            "directions": outputs["directions"],
            "explained": outputs["explained"],
        },
        close=1e-4,
    ),
    Case(
        "TSNE",
        lambda place: torch.as_tensor(
            manifold.TSNE(perplexity=5.0, random_state=SEED, init="pca").fit_transform(SAMPLES)
        ),
        {"perplexity": 5.0},
        {"data": IRIS},
        see=lambda outputs: outputs["dataset"].inputs,
        close=1e-3,
    ),
    Case("KMeans", groups, {"tries": 2}, {"data": IRIS}, close=1e-4),
    Case("DBSCAN", crowds, {"radius": 0.6, "neighbours": 4}, {"data": IRIS}, close=1e-6),
]

GIVEN = torch.tensor([0, 1, 2, 2, 1, 0, 0, 3])
RIGHT = torch.tensor([0, 1, 1, 2, 1, 2, 0, 0])
GUESSED, AIMS = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.5, 2.0, 3.5])


def class_scores(given: torch.Tensor, right: torch.Tensor) -> dict[str, float]:
    metrics, macro = sklearn.metrics, {"average": "macro", "zero_division": 0}
    return {
        "accuracy": float(metrics.accuracy_score(right, given)),
        "precision": float(metrics.precision_score(right, given, **macro)),
        "recall": float(metrics.recall_score(right, given, **macro)),
        "f1": float(metrics.f1_score(right, given, **macro)),
    }


MODEL = nn.Linear(4, 3).eval()
with torch.no_grad():
    MODEL.weight.copy_(torch.tensor([[0.5, 1.0, -1.0, -2.0], [0.2, -0.5, 0.3, -0.4], [-0.5, -0.5, 0.8, 1.5]]))
    MODEL.bias.copy_(torch.tensor([0.1, 0.5, -0.7]))
    SCORES = MODEL(IRIS.inputs)


def judged(place: Place) -> dict[str, Any]:
    answers = SCORES.argmax(1)
    return {
        "accuracy": class_scores(answers, IRIS.targets)["accuracy"],
        "f1": class_scores(answers, IRIS.targets)["f1"],
        "loss": float(nn.functional.cross_entropy(SCORES, IRIS.targets)),
        "confusion": torch.as_tensor(sklearn.metrics.confusion_matrix(CLASSES, answers)),
    }


JUDGING = [
    Case(
        "Evaluate",
        judged,
        {},
        {"data": IRIS, "model": MODEL},
        see=lambda outputs: {
            "accuracy": outputs["metrics"]["accuracy"],
            "f1": outputs["metrics"]["macro_f1"],
            "loss": outputs["metrics"]["loss"],
            "confusion": outputs["confusion"],
        },
        close=1e-5,
    ),
    Case(
        "Predict",
        {"scores": SCORES, "shares": SCORES.softmax(1), "answers": SCORES.argmax(1), "targets": IRIS.targets},
        {},
        {"data": IRIS, "model": MODEL},
        close=1e-6,
    ),
    Case(
        "ClassScores",
        {
            "metrics": class_scores(GIVEN, RIGHT),
            "confusion": torch.as_tensor(sklearn.metrics.confusion_matrix(RIGHT, GIVEN)),
        },
        {},
        {"predicted": GIVEN, "targets": RIGHT},
        close=1e-6,
    ),
    Case(
        "NumberScores",
        {
            "mae": float(sklearn.metrics.mean_absolute_error(AIMS, GUESSED)),
            "rmse": float(sklearn.metrics.mean_squared_error(AIMS, GUESSED) ** 0.5),
            "r2": float(sklearn.metrics.r2_score(AIMS.double(), GUESSED.double())),
        },
        {},
        {"predicted": GUESSED, "targets": AIMS},
        close=1e-6,
    ),
    Case(
        "GroupScores",
        {
            "adjusted_rand": float(sklearn.metrics.adjusted_rand_score(RIGHT, GIVEN)),
            "mutual_information": float(sklearn.metrics.normalized_mutual_info_score(RIGHT, GIVEN)),
        },
        {},
        {"groups": GIVEN, "targets": RIGHT},
        close=1e-6,
    ),
]

CASES = [*ESTIMATORS, *STRUCTURE, *JUDGING]
