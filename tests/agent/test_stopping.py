"""P-3: asked, terminated after the grace, killed 5 s later."""

from __future__ import annotations

from codefy_agent.stopping import Escalation, Stage


def test_the_ladder() -> None:
    escalation = Escalation()
    assert escalation.due(100.0) is None and escalation.deadline is None
    assert escalation.ask(30.0, now=100.0)
    assert escalation.deadline == 130.0
    assert escalation.due(129.9) is None
    assert escalation.due(130.0) is Stage.TERMINATED
    assert escalation.deadline == 135.0
    assert escalation.due(134.9) is None
    assert escalation.due(135.0) is Stage.KILLED
    assert escalation.deadline is None and escalation.due(999.0) is None


def test_a_second_ask_only_shortens_and_is_not_told_again() -> None:
    escalation = Escalation()
    assert escalation.ask(30.0, now=0.0)
    assert not escalation.ask(60.0, now=1.0)
    assert escalation.deadline == 30.0
    assert not escalation.ask(0.0, now=2.0)
    assert escalation.due(2.0) is Stage.TERMINATED


def test_after_terminate_the_kill_cannot_be_put_off() -> None:
    escalation = Escalation()
    escalation.ask(0.0, now=0.0)
    assert escalation.due(0.0) is Stage.TERMINATED
    assert not escalation.ask(100.0, now=1.0)
    assert escalation.due(5.0) is Stage.KILLED


def test_a_kill_at_once() -> None:
    escalation = Escalation()
    escalation.kill()
    assert escalation.stage is Stage.KILLED
    assert not escalation.ask(0.0, now=0.0)
