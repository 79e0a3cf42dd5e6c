"""Nodes that judge a model, or what it answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor, nn

    from codefy_engine.training.data import TensorDataset


@node(type="Evaluate", title="Evaluate", category="evaluation", icon="gauge")
class Evaluate(Node):
    """Judge a model by data that it did not learn from.

    For classes: accuracy, macro F1 (the mean of the classes' F1), cross-entropy loss and the confusion matrix
    `[classes, classes]`, in which row *i*, column *j* counts how often class *i* was taken for class *j*; also as a
    picture. For numbers: mean squared error as loss, mean absolute error, its root mean square and R²; the matrix
    is then `[0, 0]`.

    **Metrics** are recorded once, called after *Name*: `test_accuracy`, `test_macro_f1`, `test_loss`, or `test_mae`,
    `test_rmse`, `test_r2`.
    """

    data: TensorDataset = input("dataset", doc="What to judge by, such as the test part.")
    model: nn.Module = input("model", doc="The trained model.")
    loss: nn.Module | None = input(
        "loss", required=False, doc="What it was trained with, such as a binary loss; else by the data."
    )
    name: str = param("test", doc="First part of the metrics' names.")
    picture: bool = param(True, doc="Write the confusion matrix as a picture.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="All scores by name, 0 to 1 where shares.")
    confusion: Tensor = output(
        "tensor", doc="int64 `[classes, classes]`: true classes down, predicted across."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import judge

        judged = judge(ctx, self.data, self.model, name=self.name, picture=self.picture, loss=self.loss)
        return {"metrics": judged.scores, "confusion": judged.confusion}


@node(type="Predict", title="Predict", category="evaluation", icon="wand")
class Predict(Node):
    """What a model answers to every sample of a data set.

    Batch by batch, in evaluation mode. For classes: scores `[n, classes]`, their shares by softmax, and the class of
    the largest `[n]`; for numbers, *answers* are the outputs and *shares* is empty.
    """

    data: TensorDataset = input("dataset", doc="The samples.")
    model: nn.Module = input("model", doc="The trained model.")
    scores: Tensor = output("tensor", doc="What the model gives, `[n, …]`.")
    shares: Tensor = output("tensor", doc="float32 `[n, classes]`, each row adds up to 1.")
    answers: Tensor = output("tensor", doc="int64 `[n]` class numbers, or the outputs.")
    targets: Tensor = output("tensor", doc="What would be right.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import predict

        return predict(ctx, self.data, self.model)


@node(type="ClassScores", title="Class scores", category="evaluation", icon="gauge")
class ClassScores(Node):
    """Compare predicted classes with the right ones.

    Both int64 `[n]`. Gives accuracy, and precision, recall and F1 as means over the classes; as scikit-learn's
    functions of these names with `average="macro"`. **Metrics** are recorded once, called after *Name*.
    """

    predicted: Tensor = input("tensor", doc="Class numbers that were given.")
    targets: Tensor = input("tensor", doc="Class numbers that are right.")
    name: str = param("scores", doc="First part of the metrics' names.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="All scores by name, 0 to 1 where shares.")
    confusion: Tensor = output(
        "tensor", doc="int64 `[classes, classes]`: true classes down, predicted across."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import score_classes

        return score_classes(ctx, self.predicted, self.targets, self.name)


@node(type="NumberScores", title="Number scores", category="evaluation", icon="gauge")
class NumberScores(Node):
    """Compare predicted numbers with the right ones.

    Both of one shape. Gives mean absolute error, root mean squared error and R². **Metrics** are recorded once, called
    after *Name*.
    """

    predicted: Tensor = input("tensor", doc="Numbers that were given.")
    targets: Tensor = input("tensor", doc="Numbers that are right.")
    name: str = param("scores", doc="First part of the metrics' names.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="All scores by name.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import score_numbers

        return score_numbers(ctx, self.predicted, self.targets, self.name)


@node(type="GroupScores", title="Group scores", category="evaluation", icon="gauge")
class GroupScores(Node):
    """Compare two ways to divide samples into groups, whatever the groups are called.

    Both int64 `[n]`. Gives the adjusted Rand index (1: the same groups, 0: as chance would) and the normalised mutual
    information; as scikit-learn's functions of these names. **Metrics** are recorded once, called after *Name*.
    """

    groups: Tensor = input("tensor", doc="Groups that were found, such as by k-means.")
    targets: Tensor = input("tensor", doc="Groups that are right.")
    name: str = param("groups", doc="First part of the metrics' names.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="All scores by name.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import score_groups

        return score_groups(ctx, self.groups, self.targets, self.name)
