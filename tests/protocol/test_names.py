"""Worker names, devices and targets (S-1, S-6)."""

from __future__ import annotations

import msgspec
import pytest

from codefy_protocol import names


@pytest.mark.parametrize("name", ["a", "gpu-box-1", "0x", "a" * 63, "gpu.i-2"])
def test_legal_worker_names(name: str) -> None:
    assert names.check_worker_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "A", "gpu_box", "a" * 64, "a.b.c", "a/b", "a ", "gpu.", "ü"])
def test_illegal_worker_names(name: str) -> None:
    with pytest.raises(names.BadName, match="worker name"):
        names.check_worker_name(name)


@pytest.mark.parametrize("name", ["local", "any"])
def test_reserved_worker_names(name: str) -> None:
    with pytest.raises(names.BadName, match="reserved"):
        names.check_worker_name(name)


@pytest.mark.parametrize(
    ("text", "canonical", "concrete"),
    [
        ("cpu", "cpu", True),
        ("cpu:0", "cpu", True),
        ("cuda", "cuda", False),
        ("cuda:3", "cuda:3", True),
        ("mps", "mps:0", True),
    ],
)
def test_devices(text: str, canonical: str, concrete: bool) -> None:
    device = names.parse_device(text)
    assert str(device) == canonical
    assert device.concrete is concrete
    assert "/" not in str(device)


@pytest.mark.parametrize(
    "text", ["", "gpu", "cpu:1", "cuda:", "cuda:-1", "cuda:01", "cuda:0/x", "CUDA:0", "cuda:0 "]
)
def test_no_devices(text: str) -> None:
    with pytest.raises(names.BadName, match="not a device"):
        names.parse_device(text)


def test_queue_keys() -> None:
    assert names.local_queue_key(names.parse_device("cuda:0")) == "cuda:0"
    assert names.worker_queue_key("any", "cpu") == "any/cpu"


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ((), "empty"),
        (("cuda",), "cuda:0 instead"),
        (("cuda:0", "cpu"), "one kind"),
        (("cuda:1", "cuda:1"), "repeats"),
    ],
)
def test_bad_device_sets(devices: tuple[str, ...], said: str) -> None:
    with pytest.raises(names.BadName, match=said):
        names.check_target(names.Target(worker="gpu", devices=devices))


def test_a_good_target_is_returned() -> None:
    target = names.Target(worker="any", devices=("cuda:2", "cuda:0"))
    assert names.check_target(target) is target


def test_a_misspelled_option_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="sede"):
        msgspec.json.decode(b'{"sede": 3}', type=names.RunOptions)
