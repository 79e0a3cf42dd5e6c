"""Optimizers. Each gives a recipe; the training loop makes the optimizer for its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, node, output, param

if TYPE_CHECKING:
    from codefy_engine.training.recipes import OptimizerRecipe


class _Optimizer(Node):
    """Base: a subclass gives the options of its ``torch.optim`` class."""

    optimizer: OptimizerRecipe = output("optimizer", doc="For the training loop.")

    def options(self) -> dict[str, Any]:
        """By the names that torch gives them.

        Raises:
            ValueError: two parameters do not go together.
        """
        raise NotImplementedError

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.recipes import OptimizerRecipe

        return OptimizerRecipe(name=self.spec.definition.type, options=self.options())


@node(type="AdamW", title="AdamW", category="training", icon="trending-down")
class AdamW(_Optimizer):
    """Adam with decoupled weight decay: a good first choice.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.01, ge=0, le=10, doc="How strongly weights are pulled to 0.")
    beta1: float = param(0.9, ge=0, lt=1, label="β₁", doc="Memory of the mean of gradients.", advanced=True)
    beta2: float = param(0.999, ge=0, lt=1, label="β₂", doc="Memory of their squares.", advanced=True)
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "betas": (self.beta1, self.beta2),
            "eps": self.eps,
        }


@node(type="Adam", title="Adam", category="training", icon="trending-down")
class Adam(_Optimizer):
    """Steps scaled by running means of the gradients and their squares.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    beta1: float = param(0.9, ge=0, lt=1, label="β₁", doc="Memory of the mean of gradients.", advanced=True)
    beta2: float = param(0.999, ge=0, lt=1, label="β₂", doc="Memory of their squares.", advanced=True)
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)
    amsgrad: bool = param(
        False, label="AMSGrad", doc="Divide by the largest mean of squares so far.", advanced=True
    )

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "betas": (self.beta1, self.beta2),
            "eps": self.eps,
            "amsgrad": self.amsgrad,
        }


@node(type="SGD", title="SGD", category="training", icon="trending-down")
class SGD(_Optimizer):
    """Plain steps against the gradient, with momentum if wanted.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(0.05, gt=0, le=100, label="Learning rate", doc="Size of a step.")
    momentum: float = param(0.9, ge=0, lt=1, doc="Share of the last step that is kept.")
    nesterov: bool = param(False, doc="Look ahead along the momentum (needs momentum).", advanced=True)
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")

    def options(self) -> dict[str, Any]:
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")
        return {
            "lr": self.lr,
            "momentum": self.momentum,
            "nesterov": self.nesterov,
            "weight_decay": self.weight_decay,
        }


@node(type="RMSprop", title="RMSprop", category="training", icon="trending-down")
class RMSprop(_Optimizer):
    """Steps divided by the root of a running mean of squared gradients.

    Gives a recipe; the training loop makes the optimizer for its model. Often used for recurrent networks.
    """

    lr: float = param(0.01, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    alpha: float = param(0.99, ge=0, lt=1, label="α", doc="Memory of the squares of gradients.")
    momentum: float = param(0.0, ge=0, lt=1, doc="Share of the last step that is kept.")
    centered: bool = param(
        False, doc="Divide by the deviation instead of the root of squares.", advanced=True
    )
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "alpha": self.alpha,
            "momentum": self.momentum,
            "centered": self.centered,
            "weight_decay": self.weight_decay,
            "eps": self.eps,
        }


@node(type="Adagrad", title="Adagrad", category="training", icon="trending-down")
class Adagrad(_Optimizer):
    """Steps that shrink for weights that were changed much.

    Gives a recipe; the training loop makes the optimizer for its model. Suits sparse inputs.
    """

    lr: float = param(0.01, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    lr_decay: float = param(0.0, ge=0, le=10, label="Rate decay", doc="How the step shrinks with every step.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    eps: float = param(1e-10, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "lr_decay": self.lr_decay,
            "weight_decay": self.weight_decay,
            "eps": self.eps,
        }


@node(type="Adadelta", title="Adadelta", category="training", icon="trending-down")
class Adadelta(_Optimizer):
    """Steps whose size follows from the sizes of the steps before.

    Gives a recipe; the training loop makes the optimizer for its model. The learning rate is a factor, usually 1.
    """

    lr: float = param(1.0, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    rho: float = param(0.9, ge=0, lt=1, label="ρ", doc="Memory of the squares of gradients.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    eps: float = param(1e-6, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {"lr": self.lr, "rho": self.rho, "weight_decay": self.weight_decay, "eps": self.eps}


class _BetaOptimizer(_Optimizer):
    lr: float = param(2e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="Added to the gradients: L2 penalty.")
    beta1: float = param(0.9, ge=0, lt=1, label="β₁", doc="Memory of the mean of gradients.", advanced=True)
    beta2: float = param(0.999, ge=0, lt=1, label="β₂", doc="Memory of their squares.", advanced=True)
    eps: float = param(1e-8, gt=0, le=1, label="ε", doc="Added to the divisor.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "betas": (self.beta1, self.beta2),
            "eps": self.eps,
        }


@node(type="Adamax", title="Adamax", category="training", icon="trending-down")
class Adamax(_BetaOptimizer):
    """Adam that divides by the largest gradient instead of the mean of squares.

    Gives a recipe; the training loop makes the optimizer for its model.
    """


@node(type="NAdam", title="NAdam", category="training", icon="trending-down")
class NAdam(_BetaOptimizer):
    """Adam that looks ahead along its momentum.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    momentum_decay: float = param(4e-3, ge=0, le=1, doc="How the momentum warms up.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {**super().options(), "momentum_decay": self.momentum_decay}


@node(type="RAdam", title="RAdam", category="training", icon="trending-down")
class RAdam(_BetaOptimizer):
    """Adam that holds back while it has seen few gradients, which makes a warm-up unnecessary.

    Gives a recipe; the training loop makes the optimizer for its model.
    """

    lr: float = param(1e-3, gt=0, le=10, label="Learning rate", doc="Size of a step.")


@node(type="Rprop", title="Rprop", category="training", icon="trending-down")
class Rprop(_Optimizer):
    """Steps that look at the signs of gradients only; for batches of the whole data.

    Gives a recipe; the training loop makes the optimizer for its model. A step grows while the sign stays and
    shrinks when it turns, so every batch should hold all samples.
    """

    lr: float = param(0.01, gt=0, le=10, label="Learning rate", doc="Size of the first step.")
    shrink: float = param(0.5, gt=0, lt=1, doc="Factor when the sign turned.", advanced=True)
    grow: float = param(1.2, gt=1, le=10, doc="Factor while the sign stays.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {"lr": self.lr, "etas": (self.shrink, self.grow)}


@node(type="Adafactor", title="Adafactor", category="training", icon="trending-down")
class Adafactor(_Optimizer):
    """Adam's scaling with far less memory: rows and columns of squares instead of all of them.

    Gives a recipe; the training loop makes the optimizer for its model. Made for large matrices.
    """

    lr: float = param(0.01, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    weight_decay: float = param(0.0, ge=0, le=10, doc="How strongly weights are pulled to 0.")
    beta2_decay: float = param(
        -0.8, ge=-1, lt=0, label="Decay", doc="Power by which the memory of squares grows.", advanced=True
    )

    def options(self) -> dict[str, Any]:
        return {"lr": self.lr, "weight_decay": self.weight_decay, "beta2_decay": self.beta2_decay}


@node(type="LBFGS", title="L-BFGS", category="training", icon="trending-down")
class LBFGS(_Optimizer):
    """A second-order method for small smooth problems, such as a regression.

    Gives a recipe; the training loop makes the optimizer for its model. Each step tries the same batch several
    times, so batches should hold all samples; it cannot be joined with accumulation, clipping or mixed precision.
    """

    lr: float = param(1.0, gt=0, le=10, label="Learning rate", doc="Size of a step.")
    max_iter: int = param(20, ge=1, le=1000, label="Tries", doc="Most tries for one batch.")
    history_size: int = param(
        10, ge=1, le=1000, label="History", doc="Steps that are remembered.", advanced=True
    )
    line_search: bool = param(False, doc="Look for the best step along the direction.", advanced=True)

    def options(self) -> dict[str, Any]:
        return {
            "lr": self.lr,
            "max_iter": self.max_iter,
            "history_size": self.history_size,
            "line_search_fn": "strong_wolfe" if self.line_search else None,
        }
