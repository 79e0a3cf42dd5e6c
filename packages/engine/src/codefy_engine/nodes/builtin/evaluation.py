"""Nodes that judge a model."""

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
    name: str = param("test", doc="First part of the metrics' names.")
    picture: bool = param(True, doc="Write the confusion matrix as a picture.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="All scores by name, 0 to 1 where shares.")
    confusion: Tensor = output(
        "tensor", doc="int64 `[classes, classes]`: true classes down, predicted across."
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.judging import judge

        judged = judge(ctx, self.data, self.model, name=self.name, picture=self.picture)
        return {"metrics": judged.scores, "confusion": judged.confusion}
