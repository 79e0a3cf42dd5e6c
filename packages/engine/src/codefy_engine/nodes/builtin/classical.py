"""Estimators of scikit-learn. Each learns from a data set and gives a model that can be applied and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import nn

    from codefy_engine.training.data import TensorDataset


class _Estimator(Node):
    """Base: a subclass gives the estimator, for classes or for numbers."""

    train: TensorDataset = input("dataset", doc="What to learn from; samples are flattened.")
    model: nn.Module = output(
        "model", doc="The fitted model: gives scores `[n, classes]` or numbers `[n, k]`."
    )

    takes: Literal["both", "classes", "numbers"] = "both"

    def estimator(self, classes: bool, seed: int) -> Any:
        """The estimator of scikit-learn, not fitted."""
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.estimators import convergence_ignored, fit_estimator

        classes = self.train.classification
        if self.takes == "classes" and not classes:
            raise ValueError("this needs classes as targets; this data has numbers")
        if self.takes == "numbers" and classes:
            raise ValueError("this needs numbers as targets; this data has classes")
        estimator = self.estimator(classes, (ctx.seed or 0) % 2**32)
        return convergence_ignored(
            lambda: fit_estimator(ctx, estimator, self.train, self.spec.definition.title)
        )


@node(type="LogisticRegression", title="Logistic regression", category="classical", icon="trending-up")
class LogisticRegression(_Estimator):
    """Part classes by straight lines, with probabilities.

    Samples `[n, …]`, classes `[n]`; as `sklearn.linear_model.LogisticRegression`. Scale the features first.
    """

    takes = "classes"
    c: float = param(
        1.0, gt=0, le=1e6, label="C", doc="Larger trusts the data more, smaller keeps weights small."
    )
    max_iter: int = param(1000, ge=1, le=1_000_000, label="Tries", doc="Most iterations.", advanced=True)

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        return sklearn("linear_model").LogisticRegression(C=self.c, max_iter=self.max_iter, random_state=seed)


@node(type="SupportVectorMachine", title="Support vector machine", category="classical", icon="git-compare")
class SupportVectorMachine(_Estimator):
    """Part classes by the widest margin, or fit numbers within a tube.

    Samples `[n, …]`; as `sklearn.svm.SVC` for classes and `SVR` for numbers. With the *rbf* kernel borders may have
    any shape. Scale the features first. It gives choices without probabilities.
    """

    c: float = param(
        1.0, gt=0, le=1e6, label="C", doc="Larger trusts the data more, smaller gives a wider margin."
    )
    kernel: Literal["rbf", "linear", "poly", "sigmoid"] = param("rbf", doc="What similarity means.")
    gamma: float | None = param(
        None, gt=0, le=1e6, label="γ", doc="How near is similar. Empty: by the spread of the data."
    )

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        gamma = "scale" if self.gamma is None else self.gamma
        make = sklearn("svm").SVC if classes else sklearn("svm").SVR
        return make(C=self.c, kernel=self.kernel, gamma=gamma)


@node(type="NearestNeighbours", title="Nearest neighbours", category="classical", icon="users")
class NearestNeighbours(_Estimator):
    """Answer as the most similar samples do.

    Samples `[n, …]`; as `sklearn.neighbors.KNeighborsClassifier` or `KNeighborsRegressor`. Scale the features first.
    """

    neighbours: int = param(5, ge=1, le=10_000, doc="How many samples are asked.")
    by_distance: bool = param(False, label="Weighted", doc="Nearer ones count more.")

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("neighbors")
        make = found.KNeighborsClassifier if classes else found.KNeighborsRegressor
        return make(n_neighbors=self.neighbours, weights="distance" if self.by_distance else "uniform")


@node(type="DecisionTree", title="Decision tree", category="classical", icon="git-branch")
class DecisionTree(_Estimator):
    """Ask one feature after the other.

    Samples `[n, …]`; as `sklearn.tree.DecisionTreeClassifier` or `DecisionTreeRegressor`.
    """

    max_depth: int | None = param(
        None, ge=1, le=1000, label="Depth", doc="Most questions in a row. Empty: no limit."
    )
    min_leaf: int = param(
        1, ge=1, le=1_000_000, unit="samples", doc="Fewest samples of an answer.", advanced=True
    )

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("tree")
        make = found.DecisionTreeClassifier if classes else found.DecisionTreeRegressor
        return make(max_depth=self.max_depth, min_samples_leaf=self.min_leaf, random_state=seed)


@node(type="RandomForest", title="Random forest", category="classical", icon="trees")
class RandomForest(_Estimator):
    """The vote of many decision trees, each of which saw other samples and features.

    Samples `[n, …]`; as `sklearn.ensemble.RandomForestClassifier` or `RandomForestRegressor`. A good first choice for
    tables.
    """

    trees: int = param(100, ge=1, le=10_000, doc="How many trees.")
    max_depth: int | None = param(
        None, ge=1, le=1000, label="Depth", doc="Most questions in a row. Empty: no limit."
    )

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("ensemble")
        make = found.RandomForestClassifier if classes else found.RandomForestRegressor
        return make(n_estimators=self.trees, max_depth=self.max_depth, random_state=seed)


@node(type="GradientBoosting", title="Gradient boosting", category="classical", icon="trees")
class GradientBoosting(_Estimator):
    """Small decision trees, each of which mends what those before it got wrong.

    Samples `[n, …]`; as `sklearn.ensemble.GradientBoostingClassifier` or `GradientBoostingRegressor`.
    """

    trees: int = param(100, ge=1, le=10_000, doc="How many trees.")
    lr: float = param(0.1, gt=0, le=10, label="Learning rate", doc="How much each tree counts.")
    max_depth: int = param(3, ge=1, le=100, label="Depth", doc="Most questions in a row.")

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("ensemble")
        make = found.GradientBoostingClassifier if classes else found.GradientBoostingRegressor
        return make(
            n_estimators=self.trees, learning_rate=self.lr, max_depth=self.max_depth, random_state=seed
        )


@node(type="NaiveBayes", title="Naive Bayes", category="classical", icon="percent")
class NaiveBayes(_Estimator):
    """Compare how likely each feature is under each class, as if features were independent.

    Samples `[n, …]`, classes `[n]`; as `sklearn.naive_bayes.GaussianNB`.
    """

    takes = "classes"

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        return sklearn("naive_bayes").GaussianNB()


@node(type="LinearRegression", title="Linear regression", category="classical", icon="trending-up")
class LinearRegression(_Estimator):
    """The straight line (plane, …) with the least squared error.

    Samples `[n, …]`, numbers `[n, k]`; as `sklearn.linear_model.LinearRegression`, `Ridge`, `Lasso` or `ElasticNet`.
    """

    takes = "numbers"
    penalty: Literal["none", "ridge", "lasso", "elastic"] = param(
        "none",
        choices=[
            ("none", "None"),
            ("ridge", "Squares (ridge)"),
            ("lasso", "Sizes (lasso)"),
            ("elastic", "Both (elastic net)"),
        ],
        doc="What keeps weights small. Sizes make some of them 0.",
    )
    alpha: float = param(
        1.0,
        gt=0,
        le=1e6,
        label="α",
        doc="Strength of the penalty.",
        visible_if={"penalty": ["ridge", "lasso", "elastic"]},
    )

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("linear_model")
        if self.penalty == "none":
            return found.LinearRegression()
        if self.penalty == "ridge":
            return found.Ridge(alpha=self.alpha)
        return (found.Lasso if self.penalty == "lasso" else found.ElasticNet)(alpha=self.alpha)


@node(type="SklearnMLP", title="Network (scikit-learn)", category="classical", icon="network")
class SklearnMLP(_Estimator):
    """A small network of scikit-learn, trained in one go.

    Samples `[n, …]`; as `sklearn.neural_network.MLPClassifier` or `MLPRegressor`. For anything more, draw a
    **Module** and train it with the **Training loop**.
    """

    hidden: list[int] = param([32], ge=1, label="Hidden layers", doc="Neurons of each hidden layer.")
    max_iter: int = param(300, ge=1, le=100_000, unit="epochs", label="Epochs", doc="Most epochs.")
    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")

    def estimator(self, classes: bool, seed: int) -> Any:
        from codefy_engine.training.estimators import sklearn

        found = sklearn("neural_network")
        make = found.MLPClassifier if classes else found.MLPRegressor
        return make(
            hidden_layer_sizes=tuple(self.hidden),
            max_iter=self.max_iter,
            learning_rate_init=self.lr,
            random_state=seed,
        )
