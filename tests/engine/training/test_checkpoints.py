import os
from pathlib import Path
from typing import Any

import pytest
import torch

from codefy_engine.training import checkpoints
from codefy_engine.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint


def test_a_file_holds_the_whole_training(training: Any, tmp_path: Path) -> None:
    whole = training(dropout=0.3)
    whole.loop.run()
    first = training(dropout=0.3, settings={"epochs": 3, "keep_last": True}, stop_after=7)
    first.loop.run()
    path = tmp_path / "folder" / "checkpoint-last.pt"
    save_checkpoint(path, first.kept[-1][1])
    second = training(dropout=0.3)
    second.loop.run(resume=load_checkpoint(path))
    resumed = first.reporter.series("loss") + second.reporter.series("loss")
    assert resumed == whole.reporter.series("loss")


def test_plain_torch_reads_it(training: Any, tmp_path: Path) -> None:
    setup = training(settings={"epochs": 1, "keep_last": True})
    setup.loop.config = {"epochs": 1, "class_names": ["a", "b"]}
    setup.loop.run()
    path = tmp_path / "c.pt"
    save_checkpoint(path, setup.kept[0][1])
    content = torch.load(path, weights_only=True)
    assert set(content) == {
        "format",
        "model",
        "optimizer",
        "progress",
        "rng",
        "config",
        "architecture",
        "metrics",
        "state",
    }
    assert content["progress"]["epoch"] == 1
    assert content["progress"]["step"] == 5
    assert content["config"]["class_names"] == ["a", "b"]
    assert [layer["type"] for layer in content["architecture"]] == ["Linear", "Tanh", "Dropout", "Linear"]
    assert content["metrics"]["val_accuracy"] == setup.loop.result.history[0]["val_accuracy"]
    for name, tensor in setup.model.state_dict().items():
        assert torch.equal(content["model"][name], tensor)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = training(settings={"epochs": 1, "keep_last": True})
    setup.loop.run()
    path = tmp_path / "c.pt"
    save_checkpoint(path, setup.kept[0][1])
    before = path.read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(path, setup.kept[0][1])
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["c.pt"]


def test_what_is_no_checkpoint_is_said_to_be_none(tmp_path: Path) -> None:
    garbage, other, newer = tmp_path / "garbage.pt", tmp_path / "other.pt", tmp_path / "newer.pt"
    garbage.write_bytes(b"not a checkpoint")
    torch.save({"weights": torch.zeros(1)}, other)
    torch.save({"format": 99, "model": {}}, newer)
    with pytest.raises(CheckpointError, match=r"garbage\.pt is not a checkpoint"):
        load_checkpoint(garbage)
    with pytest.raises(CheckpointError, match="no format and model"):
        load_checkpoint(other)
    with pytest.raises(CheckpointError, match="format 99; this Codefy reads 1"):
        load_checkpoint(newer)
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "missing.pt")


class _Evil:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("hacked",)


def test_code_in_a_file_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"format": 1, "model": _Evil()}, tmp_path / "evil.pt")
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "evil.pt")
    assert not (tmp_path / "hacked").exists()
