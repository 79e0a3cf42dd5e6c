import pytest
import sklearn.datasets
import torch

from codefy_engine.training.data import Batches, Batching, TensorDataset, batches_of, split_dataset
from codefy_engine.training.sklearn_data import NAMES, load_sklearn

CPU = torch.device("cpu")


def numbered(count: int) -> TensorDataset:
    return TensorDataset(inputs=torch.arange(count).float().unsqueeze(1), targets=torch.arange(count) % 3)


def seen(batches: Batches, epoch: int, start: int = 0) -> list[int]:
    return [int(value) for inputs, _ in batches.epoch(epoch, start=start) for value in inputs.flatten()]


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_hold_scikit_learns_numbers(name: str) -> None:
    data = load_sklearn(name)
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    scale = 16 if name == "digits" else 1
    assert torch.allclose(data.inputs.flatten(1) * scale, torch.tensor(bunch.data).float())
    assert torch.equal(data.targets.flatten(), torch.tensor(bunch.target).to(data.targets.dtype).flatten())
    assert data.classification == (name not in ("diabetes", "linnerud"))
    assert len(data.class_names) == data.class_count
    # What comes back is ours: a later load is not touched by it.
    data.inputs.zero_()
    assert float(load_sklearn(name).inputs.abs().sum()) > 0


def test_an_unknown_data_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"'mnist'.*digits"):
        load_sklearn("mnist")


def test_sequential_batches_share_memory_and_keep_the_rest() -> None:
    data = numbered(10)
    batches = Batches(data, Batching(batch_size=4), device=CPU)
    got = list(batches.epoch(0))
    assert [len(inputs) for inputs, _ in got] == [4, 4, 2]
    assert len(batches) == 3
    assert batches.sample_count == 10
    assert got[1][0].data_ptr() == data.inputs[4:].data_ptr()


def test_drop_last_leaves_the_rest_out() -> None:
    batches = Batches(numbered(10), Batching(batch_size=4, drop_last=True), device=CPU)
    assert [len(inputs) for inputs, _ in batches.epoch(0)] == [4, 4]
    assert batches.sample_count == 8


def test_shuffled_epochs_are_permutations_that_follow_from_seed_and_epoch() -> None:
    batching = Batching(batch_size=7, shuffle=True)
    one = Batches(numbered(100), batching, device=CPU, seed=3)
    same = Batches(numbered(100), batching, device=CPU, seed=3)
    other = Batches(numbered(100), batching, device=CPU, seed=4)
    assert sorted(seen(one, 0)) == list(range(100))
    # The second object starts at epoch 5: nothing is carried over.
    assert seen(same, 5) == seen(one, 5)
    assert seen(one, 0) != seen(one, 1)
    assert seen(one, 0) != seen(other, 0)
    assert seen(one, 1) != seen(other, 0)
    assert seen(one, 2, start=3) == seen(one, 2)[21:]


def test_inputs_and_targets_stay_together_when_shuffled() -> None:
    batches = Batches(numbered(50), Batching(batch_size=8, shuffle=True), device=CPU)
    for inputs, targets in batches.epoch(0):
        assert torch.equal(inputs.flatten().long() % 3, targets)


def test_a_loader_wins_over_the_default() -> None:
    data = numbered(10)
    assert len(batches_of(data, Batching(batch_size=5), device=CPU)) == 2
    assert len(batches_of(data.batched(Batching(batch_size=2)), Batching(batch_size=5), device=CPU)) == 5


def test_a_split_divides_everything_once_and_stratifies() -> None:
    data = load_sklearn("iris")
    split = split_dataset(data, test_fraction=0.2, validation_fraction=0.1, seed=1)
    assert [len(split.train), len(split.validation), len(split.test)] == [105, 15, 30]
    for part, each in ((split.train, 35), (split.validation, 5), (split.test, 10)):
        assert torch.bincount(part.targets).tolist() == [each] * 3
    together = torch.cat([split.train.inputs, split.validation.inputs, split.test.inputs])
    assert sorted(map(tuple, together.tolist())) == sorted(map(tuple, data.inputs.tolist()))


def test_a_split_follows_from_its_seed() -> None:
    data = load_sklearn("wine")
    kwargs = {"test_fraction": 0.3, "validation_fraction": 0.0}
    first, same, other = (split_dataset(data, seed=seed, **kwargs) for seed in (1, 1, 2))
    assert torch.equal(first.test.inputs, same.test.inputs)
    assert not torch.equal(first.test.inputs, other.test.inputs)
    assert len(first.validation) == 0


def test_without_stratification_classes_fall_as_they_do() -> None:
    data = numbered(300)
    kwargs = {"test_fraction": 0.5, "validation_fraction": 0.0, "stratify": False}
    counts = {
        tuple(torch.bincount(split_dataset(data, seed=seed, **kwargs).test.targets).tolist())
        for seed in range(5)
    }
    assert len(counts) > 1


def test_standardizing_uses_the_training_part_only() -> None:
    data = load_sklearn("wine")
    data = TensorDataset(inputs=torch.cat([data.inputs, torch.ones(178, 1)], dim=1), targets=data.targets)
    split = split_dataset(data, test_fraction=0.3, validation_fraction=0.1, seed=0, standardize=True)
    plain = split_dataset(data, test_fraction=0.3, validation_fraction=0.1, seed=0)
    mean, deviation = plain.train.inputs.mean(0), plain.train.inputs.std(0, correction=0)
    assert torch.allclose(split.train.inputs[:, :13].mean(0), torch.zeros(13), atol=1e-5)
    assert torch.allclose(split.train.inputs[:, :13].std(0, correction=0), torch.ones(13), atol=1e-4)
    wanted = (plain.test.inputs[:, :13] - mean[:13]) / deviation[:13]
    assert torch.allclose(split.test.inputs[:, :13], wanted, atol=1e-5)
    # A feature that never changes is not divided by zero.
    assert split.test.inputs[:, 13].abs().max() == 0


@pytest.mark.parametrize(("test", "validation"), [(0.6, 0.4), (0.9, 0.2)])
def test_a_split_needs_something_to_train_with(test: float, validation: float) -> None:
    with pytest.raises(ValueError, match="nothing to train with"):
        split_dataset(numbered(10), test_fraction=test, validation_fraction=validation, seed=0)


def test_too_few_samples_for_the_fractions() -> None:
    with pytest.raises(ValueError, match="2 samples are too few"):
        split_dataset(numbered(2), test_fraction=0.49, validation_fraction=0.49, seed=0)


def test_inputs_and_targets_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="3 samples need as many targets, got 2"):
        TensorDataset(inputs=torch.zeros(3, 1), targets=torch.zeros(2))
