"""P-2, P-10: which cards a run sees, in which order, and what it must not see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from codefy_agent.engine_env import EngineNotFound, find_engine
from codefy_agent.environment import child_environment, device_aliases, device_of_run, visible_devices
from codefy_protocol.frames import DeviceIdentity

CPU = (DeviceIdentity(name="cpu"),)
PAIR = (DeviceIdentity(name="cuda:2", uuid="GPU-c"), DeviceIdentity(name="cuda:0", uuid="GPU-a"))


def test_cards_in_the_order_assigned_as_uuids() -> None:
    environment = child_environment(
        {"CUDA_VISIBLE_DEVICES": "0,1,2,3", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, PAIR
    )
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-c,GPU-a"
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert device_aliases(PAIR) == {"cuda:0": "cuda:2", "cuda:1": "cuda:0"}
    assert device_of_run("cuda:2", PAIR) == "cuda:0"
    assert device_of_run("cuda:0", PAIR) == "cuda:1"


@pytest.mark.parametrize("devices", [CPU, (DeviceIdentity(name="mps:0"),)])
def test_no_card_for_runs_without_one(devices: tuple[DeviceIdentity, ...]) -> None:
    assert child_environment({"CUDA_VISIBLE_DEVICES": "0"}, devices)["CUDA_VISIBLE_DEVICES"] == ""


def test_a_card_without_uuid_goes_by_its_index_and_an_instance_by_its_uuid() -> None:
    assert visible_devices((DeviceIdentity(name="cuda:3"),)) == ["3"]
    assert visible_devices((DeviceIdentity(name="cuda:5", uuid="MIG-1"),)) == ["MIG-1"]


def test_names_of_single_devices() -> None:
    assert device_of_run("cpu", CPU) == "cpu"
    assert device_aliases(CPU) == {}
    assert device_of_run("mps:0", (DeviceIdentity(name="mps:0"),)) == "mps:0"
    assert device_of_run("cuda", (DeviceIdentity(name="cuda:4", uuid="GPU-x"),)) == "cuda:0"


@pytest.mark.parametrize(
    "name",
    [
        "CODEFY_DB_PATH",
        "CODEFY_AGENT_TOKEN",
        "CODEFY_AGENT_TOKEN_FILE",
        "CODEFY_TOKEN_FILE",
        "CODEFY_SESSION_TOKEN",
        "CODEFY_S3_SECRET_KEY",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
    ],
)
def test_what_a_run_must_not_see(name: str) -> None:
    assert name not in child_environment({name: "x", "HOME": "/home/me"}, CPU)


def test_the_rest_is_inherited() -> None:
    inherited = {
        "HOME": "/home/me",
        "LD_LIBRARY_PATH": "/opt/lib",
        "CODEFY_EXECUTION_PARALLEL_NODES": "2",
        "HF_TOKEN": "t",
    }
    assert inherited.items() <= child_environment(inherited, CPU).items()


def test_the_interpreter_that_was_asked_for(tmp_path: Path) -> None:
    engine = find_engine(sys.executable)
    assert engine is not None and engine.python == Path(sys.executable)
    assert engine.child_command()[1:] == [
        "-P",
        "-m",
        "codefy_engine.child",
        "--read-fd",
        "{read}",
        "--write-fd",
        "{write}",
    ]
    with pytest.raises(EngineNotFound, match="no such program"):
        find_engine(str(tmp_path / "python"))


def test_the_agents_own_environment_is_found_without_importing_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given back afterwards: a second import would be another engine than the one other tests hold.
    monkeypatch.delitem(sys.modules, "codefy_engine", raising=False)
    engine = find_engine(None)
    assert engine is not None and engine.origin == "this environment"
    assert "codefy_engine" not in sys.modules


def test_an_environment_in_the_data_folder(tmp_path: Path) -> None:
    missing = "codefy_engine_that_is_not_installed.child"
    assert find_engine(None, tmp_path, module=missing) is None
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    engine = find_engine(None, tmp_path, module=missing)
    # The link itself, not what it points to: it says which environment this is.
    assert engine is not None and engine.python == python


@pytest.mark.parametrize(
    ("inherited", "seed"), [({}, "0"), ({"PYTHONHASHSEED": "random"}, "0"), ({"PYTHONHASHSEED": "7"}, "7")]
)
def test_sets_have_one_order_in_every_child(inherited: dict[str, str], seed: str) -> None:
    assert child_environment(inherited, CPU)["PYTHONHASHSEED"] == seed
