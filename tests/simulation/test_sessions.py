"""The two real sessions under random schedules of faults. A failing seed replays alone: ``CODEFY_SIM_SEED=17 pytest …``."""

from __future__ import annotations

import os

import pytest
from simulated_world import Plan, World

SCHEDULES = int(os.environ.get("CODEFY_SIM_SCHEDULES", "600"))
ONE_SEED = os.environ.get("CODEFY_SIM_SEED")

PLANS = {
    "calm": Plan(cut_rate=0, agent_crash_rate=0, control_crash_rate=0, cancel_rate=0, late_tick=0),
    "flaky link": Plan(cut_rate=0.3, agent_crash_rate=0, control_crash_rate=0, cancel_rate=0),
    "control plane dies": Plan(cut_rate=0.05, agent_crash_rate=0, control_crash_rate=0.15, cancel_rate=0),
    "agent dies": Plan(cut_rate=0.05, agent_crash_rate=0.15, control_crash_rate=0, torn=0),
    "machine dies": Plan(cut_rate=0.05, agent_crash_rate=0.15, control_crash_rate=0.05, torn=1.0),
    "everything": Plan(cut_rate=0.15, agent_crash_rate=0.05, control_crash_rate=0.05, cancel_rate=0.1),
    "short grace": Plan(cut_rate=0.15, agent_crash_rate=0.05, control_crash_rate=0.05, resume_grace_s=6.0),
    "slow disk": Plan(cut_rate=0.05, agent_crash_rate=0.2, torn=1.0, commit_s=5.0, delay_s=2.0, reboot_s=1.0),
    "lost disk": Plan(cut_rate=0.05, agent_crash_rate=0.1, control_crash_rate=0.03, disk_lost=0.5),
    "unwanted": Plan(
        records=60, cut_rate=0.15, agent_crash_rate=0.02, control_crash_rate=0.05, cancel_rate=0.1
    ),
    "given up": Plan(records=60, cut_rate=0.1, control_crash_rate=0.05, cancel_rate=0, resume_grace_s=3.0),
    "draining": Plan(cut_rate=0.1, agent_crash_rate=0.03, control_crash_rate=0.03, drain_rate=0.1),
}


def play(plan: Plan, seed: int) -> World:
    world = World(seed, plan)
    world.play()
    world.verdict()
    return world


@pytest.mark.parametrize("name", PLANS)
def test_random_schedules(name: str) -> None:
    seeds = [int(ONE_SEED)] if ONE_SEED else range(SCHEDULES // len(PLANS))
    for seed in seeds:
        play(PLANS[name], seed)
