import subprocess
import sys

import pytest
import torch
from torch import nn

from codefy_engine.training.recipes import OptimizerRecipe, check_loss_fits, default_loss
from codefy_engine.training.seeding import SeededDropout, derive_seed, seeded_initialisation


def test_dropout_has_torch_s_arithmetic() -> None:
    layer = SeededDropout(0.25)
    layer.seed = 7
    x = torch.ones(200_000)
    y = layer(x)
    assert y.unique().tolist() == [0.0, pytest.approx(1 / 0.75)]
    assert float((y == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    layer.eval()
    assert layer(x) is x


def test_gradients_pass_where_values_do() -> None:
    layer = SeededDropout(0.5)
    layer.seed = 1
    x = torch.ones(100, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())


def test_masks_follow_from_the_seed_alone() -> None:
    first, second = SeededDropout(0.5), SeededDropout(0.5)
    first.seed = second.seed = 3
    x = torch.ones(50)
    a = [first(x), first(x)]
    torch.rand(3)
    b = [second(x), second(x)]
    assert torch.equal(a[0], b[0])
    assert torch.equal(a[1], b[1])
    assert not torch.equal(a[0], a[1])


def test_without_a_seed_the_global_generator_decides() -> None:
    layer = SeededDropout(0.5)
    torch.manual_seed(5)
    mine = layer(torch.ones(50))
    torch.manual_seed(5)
    assert torch.equal(mine, nn.functional.dropout(torch.ones(50), 0.5))
    assert layer.generator_state() is None


def test_a_share_of_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="below 1"):
        SeededDropout(1.0)


def test_initialisation_puts_the_generator_back_also_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), seeded_initialisation(3):
        torch.rand(1)
        raise RuntimeError
    assert torch.equal(before, torch.get_rng_state())
    with seeded_initialisation(3):
        a = torch.rand(1)
    with seeded_initialisation(3):
        assert torch.equal(a, torch.rand(1))


def test_derived_seeds_differ_by_every_part_and_are_seeds_for_torch() -> None:
    seeds = {
        derive_seed(seed, *names)
        for seed in (0, 1, 2**31 - 1, 2**62)
        for names in (("a", "b"), ("b", "a"), ("a/b",), ("c",))
    }
    assert len(seeds) == 12  # ("a", "b") and ("a/b",) are one path
    for seed in seeds:
        torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
        ("Adam", {"lr": 0.01}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ],
)
def test_a_bound_recipe_steps_like_torch_s_optimizer(name: str, options: dict[str, float]) -> None:
    mine, theirs = nn.Linear(3, 2), nn.Linear(3, 2)
    theirs.load_state_dict(mine.state_dict())
    own = OptimizerRecipe(name=name, options=options).bind(mine.parameters())
    plain = getattr(torch.optim, name)(theirs.parameters(), **options)
    for seed in range(5):
        x = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))
        for model, optimizer in ((mine, own), (theirs, plain)):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
    assert torch.equal(mine.weight, theirs.weight)
    plain.load_state_dict(own.state_dict())


def test_a_training_does_not_load_the_compiler() -> None:
    """It takes seconds and nothing here compiles; when torch no longer loads it, ``training.lean`` can go."""
    code = (
        "import sys, torch\n"
        "from codefy_engine.training.recipes import OptimizerRecipe\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = OptimizerRecipe(name='AdamW', options={'lr': 0.1}).bind(model.parameters())\n"
        "before = model.weight.detach().clone()\n"
        "model(torch.ones(1, 2)).sum().backward()\n"
        "optimizer.step(); optimizer.zero_grad(); optimizer.load_state_dict(optimizer.state_dict())\n"
        "assert not torch.equal(before, model.weight) and torch.is_grad_enabled()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        # Something else loads the compiler (a stand-in: the real one takes seconds): torch's own ways are taken.
        "import types\n"
        "asked = []\n"
        "def disable(fn, *_, **__):\n"
        "    asked.append(fn.__name__)\n"
        "    return fn\n"
        "compiler = types.ModuleType('torch._dynamo')\n"
        "compiler.disable, compiler.graph_break = disable, lambda: asked.append('graph_break')\n"
        "sys.modules['torch._dynamo'] = torch._dynamo = compiler\n"
        "model(torch.ones(1, 2)).sum().backward()\n"
        "optimizer.step(); optimizer.zero_grad(); optimizer.zero_grad()\n"
        "assert asked == ['graph_break', 'graph_break', 'zero_grad'], asked\n"
        "assert torch.is_grad_enabled()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_without_weights_cannot_be_trained() -> None:
    with pytest.raises(ValueError, match="no parameters to train"):
        OptimizerRecipe(name="SGD", options={"lr": 1.0}).bind(nn.ReLU().parameters())


def test_losses_and_targets_must_fit() -> None:
    check_loss_fits(default_loss(classification=True), classification=True)
    check_loss_fits(default_loss(classification=False), classification=False)
    with pytest.raises(ValueError, match="needs class numbers"):
        check_loss_fits(nn.CrossEntropyLoss(), classification=False)
    with pytest.raises(ValueError, match="needs numbers"):
        check_loss_fits(nn.MSELoss(), classification=True)
