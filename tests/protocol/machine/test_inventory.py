"""P-10, S-5: devices as the driver lists them, on machines that do not exist (through the real nvidia-ml-py)."""

from __future__ import annotations

import os
import subprocess
import sys

from codefy_protocol.frames import Device
from codefy_protocol.machine import DeviceInventory
from codefy_protocol.machine.inventory import visible_cards

GIB = 1024**3
A = f"card|GPU-aaaa-1|NVIDIA H200|{140 * GIB}|{100 * GIB}|37|51|312500|0"
B = f"card|GPU-bbbb-2|NVIDIA H200|{140 * GIB}|{139 * GIB}|0|40|75000|0"
C = f"card|GPU-cccc-3|NVIDIA H200|{140 * GIB}|{139 * GIB}|0|40|75000|0"
SPLIT = f"card|GPU-dddd-4|NVIDIA H200|{140 * GIB}|{139 * GIB}|||75000|1"
INSTANCE = f"mig|MIG-1111|NVIDIA H200 MIG 1g.18gb|{18 * GIB}|{17 * GIB}"
INSTANCE_2 = f"mig|MIG-2222|NVIDIA H200 MIG 1g.18gb|{18 * GIB}|{17 * GIB}"


def test_the_processor_is_always_there_first(machine) -> None:
    cpu = machine().devices[0]
    assert (cpu["name"], cpu["kind"]) == ("cpu", "cpu")
    assert 0 < cpu["memory_free"] <= cpu["memory_total"]
    assert 0 <= cpu["load"] <= 1


def test_facts_of_a_card(machine) -> None:
    assert machine(A).devices[1] == {
        "name": "cuda:0",
        "kind": "cuda",
        "label": "NVIDIA H200",
        "uuid": "GPU-aaaa-1",
        "memory_total": 140 * GIB,
        "memory_free": 100 * GIB,
        "load": 0.37,
        "temperature": 51.0,
        "power_watts": 312.5,
    }


def test_no_card_and_no_driver_are_normal_answers(machine) -> None:
    assert machine().cuda() == []
    assert machine("nodriver").cuda() == []


def test_a_driver_that_comes_goes_and_comes_back(machine) -> None:
    box = machine("nodriver")
    box.change(A)
    assert box.cuda() == ["cuda:0"]
    box.change("nodriver")
    assert box.cuda() == []
    box.change(A, B)
    assert box.cuda() == ["cuda:0", "cuda:1"]


def test_a_lost_card_is_not_offered_and_the_others_keep_their_names(machine) -> None:
    box = machine(A, B, C)
    assert box.cuda() == ["cuda:0", "cuda:1", "cuda:2"]
    box.change(A, "lost", C)
    assert box.cuda() == ["cuda:0", "cuda:2"]


def test_what_the_driver_does_not_say_is_left_out(machine) -> None:
    card = machine("card||Jetson||||||").devices[1]
    assert card == {"name": "cuda:0", "kind": "cuda", "label": "Jetson"}


def test_instances_come_after_the_whole_cards_and_replace_theirs(machine) -> None:
    box = machine(SPLIT, INSTANCE, INSTANCE_2, A)
    listed = [(device["name"], device.get("uuid"), device.get("mig", False)) for device in box.devices[1:]]
    assert listed == [
        ("cuda:1", "GPU-aaaa-1", False),
        ("cuda:2", "MIG-1111", True),
        ("cuda:3", "MIG-2222", True),
    ]
    assert box.devices[2]["memory_total"] == 18 * GIB
    assert "power_watts" not in box.devices[2]


def test_a_split_card_without_instances_offers_nothing(machine) -> None:
    assert machine(SPLIT, A).cuda() == ["cuda:1"]


def test_the_inherited_visibility_limits_what_is_offered(machine) -> None:
    assert machine(A, B, C, visible="2,0").cuda() == ["cuda:0", "cuda:2"]
    assert machine(A, B, C, visible="GPU-bbbb").cuda() == ["cuda:1"]
    assert machine(A, B, C, visible="").cuda() == []
    assert machine(SPLIT, INSTANCE, INSTANCE_2, A, visible="MIG-2222").cuda() == ["cuda:3"]


def test_visibility_ends_where_cuda_ends_it() -> None:
    cards = [
        Device(name="cuda:0", kind="cuda", uuid="GPU-a1"),
        Device(name="cuda:1", kind="cuda", uuid="GPU-a2"),
        Device(name="cuda:2", kind="cuda", uuid="GPU-b"),
    ]
    names = lambda visible: [card.name for card in visible_cards(cards, visible)]  # noqa: E731
    assert names(None) == ["cuda:0", "cuda:1", "cuda:2"]
    assert names("0,-1,2") == ["cuda:0"]
    assert names("7,0") == []
    assert names("GPU-a") == []  # two cards begin so
    assert names("NoDevFiles") == []


def test_without_the_library_the_binding_is_never_imported() -> None:
    code = (
        "import sys; from codefy_protocol.machine import DeviceInventory;"
        "d = DeviceInventory().read(); assert d[0].name == 'cpu', d;"
        "sys.exit('torch' in sys.modules or ('pynvml' in sys.modules and len(d) == 1))"
    )
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == 0


def test_who_is_on_a_card(machine) -> None:
    box = machine(A, "process|20|500|", "process|10|700|graphics", "process|20|900|graphics", B)
    assert box.processes == {"cuda:0": [(10, 700), (20, 900)], "cuda:1": []}
    box.change(A, "noprocesses", B, "process|10|5|")
    assert box.processes == {"cuda:0": None, "cuda:1": [(10, 5)]}


def test_who_is_on_an_instance(machine) -> None:
    box = machine(SPLIT, INSTANCE, "process|7|1|", INSTANCE_2, "process|8|2|", A, "process|9|3|")
    assert box.processes == {"cuda:1": [(9, 3)], "cuda:2": [(7, 1)], "cuda:3": [(8, 2)]}


def test_read_twice_gives_the_same_devices() -> None:
    inventory = DeviceInventory()
    try:
        assert [device.name for device in inventory.read()] == [device.name for device in inventory.read()]
    finally:
        inventory.close()
