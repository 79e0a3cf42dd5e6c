"""P-9 and S-16: what is told of the cards, from a list of processes, without a card."""

from __future__ import annotations

import os

import pytest

from codefy_agent.cards import CardWatch, ProcessFacts
from codefy_agent.process import MARK
from codefy_agent.whose import is_codefy, living, process_facts
from codefy_protocol.frames import Device, ForeignUse, UncleanSlot
from codefy_protocol.machine import CardProcess

CARD = Device(name="cuda:0", kind="cuda", uuid="GPU-a")
OTHER = Device(name="cuda:1", kind="cuda", uuid="GPU-b")
KEY = ("r1", 1)
MARKED = ProcessFacts(name="python", mark="r1.1.aa")


def on(*pids: int, memory: int = 100) -> tuple[CardProcess, ...]:
    return tuple(CardProcess(pid=pid, memory=memory * pid) for pid in pids)


def watching() -> CardWatch:
    watch = CardWatch(same_numbers=True)
    watch.run_started(KEY, ["cuda:0"], pid=10, mark="r1.1.aa")
    return watch


def judge(watch: CardWatch, *pids: int, alive: tuple[int, ...] = (), **facts: ProcessFacts) -> Device:
    known = {int(name[1:]): each for name, each in facts.items()}
    (device,) = watch.judged([CARD], {"cuda:0": on(*pids)}, known, set(alive))
    return device


def test_a_card_of_which_nothing_is_to_be_told_is_as_it_was() -> None:
    assert judge(CardWatch(same_numbers=True)) == CARD


def test_what_a_run_does_while_it_runs_is_nobodys_concern() -> None:
    assert judge(watching(), 10, 11, p11=MARKED) == CARD


def test_a_card_is_clean_when_nothing_of_the_run_is_listed() -> None:
    watch = watching()
    watch.run_ended(KEY, ())
    assert watch.waiting
    assert judge(watch) == CARD
    assert watch.is_clean(KEY) and not watch.waiting


def test_a_main_process_whose_memory_is_not_back_keeps_the_card() -> None:
    watch = watching()
    watch.run_ended(KEY, ())
    device = judge(watch, 10)  # gone, and still listed
    assert device.unclean == UncleanSlot(run_id="r1", pid=10, pids=(10,))
    assert device.foreign is None
    assert judge(watch) == CARD


def test_a_grandchild_that_was_seen_counts_when_its_mark_is_gone() -> None:
    watch = watching()
    judge(watch, 10, 11, p11=MARKED)
    watch.run_ended(KEY, ())
    assert judge(watch, 11).unclean == UncleanSlot(run_id="r1", pid=11, pids=(11,))


def test_one_that_survives_its_killing_keeps_every_card_of_the_run() -> None:
    watch = CardWatch(same_numbers=True)
    watch.run_started(KEY, ["cuda:0", "cuda:1"], pid=10, mark="m")
    watch.run_ended(KEY, (12,))
    assert watch.followed() == {10, 12}
    devices = watch.judged(
        [CARD, OTHER], {"cuda:0": on(12), "cuda:1": ()}, {12: ProcessFacts(name="ld")}, {12}
    )
    told = UncleanSlot(run_id="r1", pid=12, process="ld", pids=(12,))
    assert [device.unclean for device in devices] == [told, told]
    watch.judged([CARD, OTHER], {"cuda:0": (), "cuda:1": ()}, {}, set())
    assert watch.is_clean(KEY)


def test_another_programs_use_is_told_by_its_largest_process_and_the_sum() -> None:
    device = judge(watching(), 10, 3, 20, 30, p3=ProcessFacts(name="game"), p20=ProcessFacts(name="blender"),
                   p30=ProcessFacts(codefy=True))  # fmt: skip
    assert device.foreign == ForeignUse(memory=2300, pid=20, process="blender")


def test_the_run_of_another_agent_is_not_foreign() -> None:
    assert judge(watching(), 40, p40=ProcessFacts(name="python", mark="other.1.bb")).foreign is None


def test_where_the_numbers_are_not_ours_nothing_is_told_but_that() -> None:
    watch = CardWatch(same_numbers=False)
    assert judge(watch, 5).cleanliness_unverifiable
    assert judge(watch, 5).foreign is None
    watch.run_started(KEY, ["cuda:0"], pid=10, mark="m")
    watch.run_ended(KEY, ())
    # Another process, which happens to have the number of ours where the driver counts.
    assert judge(watch, 10).unclean is None and watch.is_clean(KEY)


def test_what_the_guard_could_not_kill_counts_also_where_the_numbers_are_not_ours() -> None:
    watch = CardWatch(same_numbers=False)
    watch.run_started(KEY, ["cuda:0"], pid=10, mark="m")
    watch.run_ended(KEY, (12,))
    assert judge(watch, 5, alive=(12,)).unclean == UncleanSlot(run_id="r1", pid=12, pids=(12,))


def test_a_card_that_lists_nothing_cannot_be_judged_and_a_processor_is_not() -> None:
    watch = watching()
    cpu = Device(name="cpu", kind="cpu")
    watch.run_ended(KEY, ())
    told = watch.judged([cpu, CARD], {"cuda:0": None}, {}, set())
    assert told[0] == cpu and told[1].cleanliness_unverifiable and told[1].unclean is None


@pytest.mark.parametrize(
    ("command", "codefy"),
    [
        (["/usr/bin/python3", "-P", "-m", "codefy_engine.child", "--read-fd", "3"], True),
        (["/env/bin/python", "/env/bin/codefy", "serve"], True),
        (["/env/bin/codefy-agent", "start"], True),
        (["python", "train.py", "codefy"], False),
        (["python", "-m", "codefy_other"], False),
        ([], False),
    ],
)
def test_codefys_programs_by_their_command_line(command: list[str], codefy: bool) -> None:
    assert is_codefy(command) is codefy


def test_processes_of_this_machine() -> None:
    here = os.getpid()
    facts = process_facts([here, 2**22 + 1])
    assert set(facts) == {here} and facts[here].name
    assert facts[here].mark == os.environ.get(MARK, "")
    assert living([here, 2**22 + 1]) == {here}
