"""The control plane's side of one worker by itself: events in, the list of decisions out."""

from __future__ import annotations

from typing import Any

import pytest

from codefy_control_plane.workers.decisions import (
    Close,
    Commit,
    Deliver,
    GiveUp,
    KeepLateResult,
    Link,
    Reported,
    Send,
    SetStatus,
    Warn,
    WorkerChanged,
)
from codefy_control_plane.workers.session import SessionSettings, WorkerSession
from codefy_control_plane.workers.tracked import MAX_STRAYS
from codefy_protocol.frames import (
    RUN_RECORD_TYPES,
    Ack,
    Assign,
    AttemptState,
    Cancel,
    Catalog,
    Device,
    DeviceIdentity,
    Drain,
    Event,
    Frame,
    Heartbeat,
    Hello,
    RecordedSeq,
    Reject,
    RunAlive,
    RunFinished,
    RunRecord,
    RunStarted,
    Welcome,
)

KEY = ("r1", 1)
CPU = Device(name="cpu", kind="cpu")


def make(**settings: Any) -> WorkerSession:
    return WorkerSession("w1", SessionSettings(product_version="1", resume_grace_s=1000.0, **settings))


def hello(incarnation: str = "a", version: str = "1") -> Hello:
    return Hello(
        name="w1", product_version=version, protocol_version=1, incarnation=incarnation, devices=(CPU,)
    )


def assign(run_id: str = "r1", attempt: int = 1) -> Assign:
    return Assign(
        run_id=run_id,
        attempt=attempt,
        graph=b"{}",
        payload_cap=1000,
        device="cpu",
        devices=(DeviceIdentity(name="cpu"),),
        grace_s=20.0,
    )


def event(seq: int, run_id: str = "r1") -> Event:
    return Event(run_id=run_id, attempt=1, seq=seq, ts=0.0, kind="node_status", body=b"{}")


def events(first: int, last: int) -> tuple[Event, ...]:
    return tuple(event(seq) for seq in range(first, last + 1))


def finished(seq: int, run_id: str = "r1", attempt: int = 1) -> RunFinished:
    return RunFinished(run_id=run_id, attempt=attempt, seq=seq, ts=0.0, body=b'{"status":"succeeded"}')


def alive(*listed: tuple[str, str, int]) -> RunAlive:
    return RunAlive(
        attempts=tuple(
            AttemptState(run_id=run_id, attempt=1, state=state, last_seq=seq) for run_id, state, seq in listed
        )
    )


def online(
    session: WorkerSession,
    *listed: tuple[str, str, int],
    number: int = 1,
    now: float = 0.0,
    who: Hello | None = None,
) -> list[Any]:
    """Connect and report; returns the decisions after run_alive."""
    session.opened(number, who or hello(), now)
    return session.frames(number, [alive(*listed)], now)


def running(session: WorkerSession, *, now: float = 0.0) -> None:
    """An attempt that has begun, with record 1 committed and acknowledged."""
    online(session, now=now)
    session.place(assign(), now)
    session.frames(1, [RunStarted(run_id="r1", attempt=1, seq=1, ts=0.0, body=b"{}")], now)
    session.committed(KEY, 1, now)
    session.tick(now + 1.0)


def sent(decisions: list[Any]) -> list[Frame]:
    return [decision.frame for decision in decisions if isinstance(decision, Send)]


def codes(decisions: list[Any]) -> list[str]:
    return [decision.reason.code for decision in decisions if isinstance(decision, Warn)]


def settle_commit(session: WorkerSession, decisions: list[Any], now: float = 0.0) -> list[Any]:
    """Carry out the one commit among the decisions."""
    (commit,) = [decision for decision in decisions if isinstance(decision, Commit)]
    return session.committed((commit.run_id, commit.attempt), commit.seq, now)


# ------------------------------------------------------------------ greeting


def test_a_hello_is_welcome_and_run_alive_makes_it_online() -> None:
    session = make(heartbeat_s=5.0)
    assert session.link is Link.OFFLINE
    (welcome,) = sent(session.opened(1, hello(), 0.0))
    assert isinstance(welcome, Welcome)
    assert (welcome.worker_id, welcome.heartbeat_s, welcome.resume_grace_s) == ("w1", 5.0, 1000.0)
    assert session.link is Link.GREETING
    assert session.frames(1, [alive()], 0.0) == [WorkerChanged()]
    assert session.link is Link.ONLINE
    assert session.devices == (CPU,)


def test_the_welcome_tells_what_is_recorded() -> None:
    session = make()
    running(session)
    session.closed(1, 2.0)
    settle = session.committed(KEY, 1, 2.0)
    assert settle == []
    (welcome,) = sent(session.opened(2, hello(), 3.0))
    assert isinstance(welcome, Welcome)
    assert welcome.recorded == (RecordedSeq(run_id="r1", attempt=1, seq=1),)


def test_the_welcome_waits_for_what_is_on_its_way_to_the_disk() -> None:
    session = make()
    running(session)
    session.frames(1, events(2, 3), 2.0)
    session.closed(1, 2.0)
    assert session.opened(2, hello(), 3.0) == []
    decisions = session.committed(KEY, 3, 3.5)
    assert [type(decision) for decision in decisions] == [
        Commit
    ]  # the status and the warning of the disconnect
    (welcome,) = sent(session.committed(KEY, 3, 4.0))
    assert isinstance(welcome, Welcome)
    assert welcome.recorded[0].seq == 3


def test_a_record_before_run_alive_closes() -> None:
    session = make()
    session.opened(1, hello(), 0.0)
    decisions = session.frames(1, [event(1)], 0.0)
    assert isinstance(decisions[0], Close)
    assert session.link is Link.DISCONNECTED


@pytest.mark.parametrize("frame", [alive(), hello()])
def test_what_comes_once_closes_when_it_comes_again(frame: Frame) -> None:
    session = make()
    online(session)
    assert isinstance(session.frames(1, [frame], 0.0)[0], Close)


def test_a_new_process_of_the_agent_replaces_the_old_one_for_good() -> None:
    session = make()
    online(session)
    decisions = session.opened(2, hello("b"), 1.0)
    assert isinstance(decisions[0], Send)
    assert decisions[0].connection == 1
    assert isinstance(decisions[0].frame, Reject)
    assert (decisions[0].frame.code, decisions[0].frame.fatal) == ("replaced", True)
    assert decisions[1] == Close(1, "replaced")
    assert isinstance(decisions[-1], Send)
    assert decisions[-1].connection == 2


def test_the_same_process_replaces_its_own_dead_connection_quietly() -> None:
    session = make()
    online(session)
    decisions = session.opened(2, hello("a"), 1.0)
    assert decisions[0] == Close(1, "replaced")
    assert not any(isinstance(frame, Reject) for frame in sent(decisions))


def test_an_old_connection_is_not_heard_and_its_end_changes_nothing() -> None:
    session = make()
    running(session)
    session.opened(2, hello(), 2.0)
    settled = session.committed(KEY, 1, 2.0)
    assert isinstance(sent(settled)[0], Welcome)
    session.frames(2, [alive(("r1", "running", 1))], 2.0)
    assert session.frames(1, [event(2)], 2.0) == []
    assert session.closed(1, 2.0) == []
    assert session.link is Link.ONLINE


# ------------------------------------------------------------------ records


def test_records_are_delivered_committed_then_acknowledged() -> None:
    session = make()
    online(session)
    assert session.place(assign(), 0.0) == [Send(1, assign())]
    batch = events(1, 3)
    assert session.frames(1, batch, 0.0) == [Deliver("r1", 1, batch), Commit("r1", 1, 3)]
    assert session.committed(KEY, 3, 0.1) == []
    assert session.next_tick() == 1.1
    assert sent(session.tick(1.1)) == [Ack(run_id="r1", attempt=1, seq=3)]


def test_every_sixty_four_records_are_acknowledged_at_once() -> None:
    session = make()
    running(session)
    session.frames(1, events(2, 64), 2.0)
    assert sent(session.committed(KEY, 64, 2.0)) == []
    session.frames(1, events(65, 65), 2.0)
    assert sent(session.committed(KEY, 65, 2.0)) == [Ack(run_id="r1", attempt=1, seq=65)]


def test_one_commit_at_a_time_and_the_next_one_takes_everything_since() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0)
    session.frames(1, [event(1)], 0.0)
    assert session.frames(1, [event(2)], 0.0) == [Deliver("r1", 1, (event(2),))]
    assert session.frames(1, [event(3)], 0.0) == [Deliver("r1", 1, (event(3),))]
    assert session.committed(KEY, 1, 0.0) == [Commit("r1", 1, 3)]


def test_records_that_were_seen_are_dropped() -> None:
    session = make()
    running(session)
    assert session.frames(1, [event(1)], 2.0) == []
    assert session.frames(1, [event(1), event(2), event(2)], 2.0)[0] == Deliver("r1", 1, (event(2),))


def test_a_hole_is_named_where_it_is() -> None:
    session = make()
    running(session)
    decisions = session.frames(1, [event(2), event(5)], 2.0)
    assert decisions[0] == Deliver("r1", 1, (event(2),))
    assert isinstance(decisions[1], Warn)
    assert (decisions[1].reason.code, decisions[1].reason.params) == ("sequence_gap", {"first": 3, "last": 4})
    assert decisions[2:] == [Deliver("r1", 1, (event(5),)), Commit("r1", 1, 5)]


def test_the_report_waits_for_what_is_before_it_and_is_acknowledged_when_settled() -> None:
    session = make()
    running(session)
    decisions = session.frames(1, [event(2), finished(3), event(4)], 2.0)
    assert decisions == [Deliver("r1", 1, (event(2),)), Commit("r1", 1, 2)]
    assert session.committed(KEY, 2, 2.0) == [Reported("r1", 1, 3, b'{"status":"succeeded"}')]
    assert sent(session.tick(3.5)) == [Ack(run_id="r1", attempt=1, seq=2)]
    assert sent(session.settled(KEY, 4.0, reported_seq=3)) == [Ack(run_id="r1", attempt=1, seq=3)]
    assert session.attempts() == []


def test_nothing_is_taken_after_the_report() -> None:
    session = make()
    running(session)
    assert session.frames(1, [finished(2)], 2.0) == [Reported("r1", 1, 2, b'{"status":"succeeded"}')]
    assert session.frames(1, [event(3), finished(4)], 2.0) == []
    assert session.cancel(KEY, 2.0) == []
    assert codes(session.closed(1, 3.0)) == []


def test_a_worker_that_floods_is_to_be_read_no_further() -> None:
    session = make(backlog=10)
    running(session)
    session.frames(1, events(2, 12), 2.0)
    assert session.overfull
    session.committed(KEY, 12, 2.0)
    assert not session.overfull


# ------------------------------------------------------------------ disconnection


def test_a_closed_socket_disconnects_the_run_and_cancels_nothing() -> None:
    session = make()
    running(session)
    decisions = session.closed(1, 2.0)
    assert decisions[0] == SetStatus("r1", 1, "disconnected")
    assert isinstance(decisions[1], Warn)
    assert decisions[1].reason.code == "worker_disconnected"
    assert decisions[1].reason.params["reason"]["code"] == "connection_closed"
    assert decisions[2:] == [Commit("r1", 1, 1), WorkerChanged()]
    assert session.link is Link.DISCONNECTED


def test_three_missed_heartbeats_disconnect() -> None:
    session = make()
    running(session)
    assert not any(isinstance(decision, Close) for decision in session.tick(29.0))
    decisions = session.tick(30.0)
    assert decisions[0] == Close(1, "no heartbeat")
    (warning,) = [decision for decision in decisions if isinstance(decision, Warn)]
    assert warning.reason.params["reason"]["params"] == {"worker": "w1", "seconds": 30}


def test_a_late_timer_does_not_disconnect() -> None:
    session = make()
    online(session)
    assert not any(isinstance(decision, Close) for decision in session.tick(200.0))
    session.frames(1, [Heartbeat()], 201.0)
    assert not any(isinstance(decision, Close) for decision in session.tick(230.0))


def test_silence_does_not_count_while_this_side_is_not_reading() -> None:
    session = make()
    online(session)
    session.reading(False, 5.0)
    assert not any(isinstance(decision, Close) for decision in session.tick(100.0))
    session.reading(True, 100.0)
    assert not any(isinstance(decision, Close) for decision in session.tick(124.0))
    assert any(isinstance(decision, Close) for decision in session.tick(125.0))


def test_a_worker_that_comes_back_goes_on() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    decisions = online(session, ("r1", "running", 5), number=2, now=50.0)
    assert decisions[0] == SetStatus("r1", 1, "running")
    assert codes(decisions) == ["worker_reconnected"]
    settle_commit(session, decisions)
    assert session.frames(2, events(2, 5), 51.0)[0] == Deliver("r1", 1, events(2, 5))
    assert not any(isinstance(decision, GiveUp) for decision in session.tick(2000.0))


def test_past_the_grace_the_run_is_given_up() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    assert session.next_tick() == 1002.0
    assert session.tick(1001.9) == []
    (decision,) = session.tick(1002.0)
    assert isinstance(decision, GiveUp)
    assert decision.status == "interrupted"
    assert decision.reason is not None
    assert (decision.reason.code, decision.reason.params["seconds"]) == ("worker_gone", 1000)
    assert session.tick(3000.0) == []
    assert session.settled(KEY, 3000.0) == []


def test_a_grace_that_ends_while_the_server_slept_is_prolonged_once() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    assert session.tick(50_000.0) == []
    assert session.next_tick() == 50_060.0
    assert isinstance(session.tick(50_060.0)[0], GiveUp)


def test_a_grace_of_its_own() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0, grace_s=7.0)
    settle_commit(session, session.closed(1, 1.0))
    assert isinstance(session.tick(8.0)[0], GiveUp)


def test_placed_but_absent_with_nothing_recorded_is_assigned_again() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0)
    settle_commit(session, session.closed(1, 0.5))
    decisions = online(session, number=2, now=1.0)
    assert sent(decisions) == [assign()]
    assert codes(decisions) == ["worker_reconnected"]


@pytest.mark.parametrize(
    ("incarnation", "code"), [("a", "worker_lost_after_restart"), ("b", "agent_restarted")]
)
def test_begun_but_absent_ends(incarnation: str, code: str) -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    decisions = online(session, number=2, now=3.0, who=hello(incarnation))
    (decision,) = [decision for decision in decisions if isinstance(decision, GiveUp)]
    assert decision.status == "interrupted"
    assert decision.reason is not None
    assert decision.reason.code == code
    assert sent(decisions) == []


def test_placing_while_the_worker_is_away_waits_for_it() -> None:
    session = make()
    online(session)
    session.closed(1, 1.0)
    decisions = session.place(assign(), 2.0)
    assert codes(decisions) == ["worker_disconnected"]
    settle_commit(session, decisions)
    assert sent(online(session, number=2, now=3.0)) == [assign()]


def test_placing_while_greeting_sends_after_run_alive() -> None:
    session = make()
    session.opened(1, hello(), 0.0)
    assert session.place(assign(), 0.0) == []
    decisions = session.frames(1, [alive()], 0.0)
    assert sent(decisions) == [assign()]
    assert codes(decisions) == []  # it was never away


def test_placing_twice_is_refused() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0)
    with pytest.raises(ValueError, match="already"):
        session.place(assign(), 0.0)


# ------------------------------------------------------------------ cancel


def test_cancel_is_sent_and_sent_again_after_a_reconnect() -> None:
    session = make()
    running(session)
    cancel = Cancel(run_id="r1", attempt=1, grace_s=20.0)
    assert session.cancel(KEY, 2.0) == [Send(1, cancel)]
    settle_commit(session, session.closed(1, 3.0))
    decisions = online(session, ("r1", "running", 1), number=2, now=4.0)
    assert cancel in sent(decisions)


def test_cancel_while_away_is_told_on_return_and_past_the_grace_it_is_cancelled() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    assert session.cancel(KEY, 3.0) == []
    assert session.tick(1002.0) == [GiveUp("r1", 1, "cancelled", None)]


def test_cancel_of_what_was_never_sent_ends_at_once() -> None:
    session = make()
    session.place(assign(), 0.0)
    assert session.cancel(KEY, 1.0) == [GiveUp("r1", 1, "cancelled", None)]


def test_cancelled_and_absent_is_not_assigned_again() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0)
    settle_commit(session, session.closed(1, 0.5))
    assert session.cancel(KEY, 0.6) == []  # the worker may have it
    decisions = online(session, number=2, now=1.0)
    assert sent(decisions) == []
    assert decisions[0] == GiveUp("r1", 1, "cancelled", None)


def test_cancel_of_an_unknown_attempt_is_nothing() -> None:
    session = make()
    online(session)
    assert session.cancel(("r9", 1), 0.0) == []


# ------------------------------------------------------------------ adoption


def test_an_adopted_attempt_waits_and_goes_on_after_what_was_recorded() -> None:
    session = make()
    assert session.place(assign(), 0.0, recorded_seq=7) == []
    (welcome,) = sent(session.opened(1, hello(), 1.0))
    assert isinstance(welcome, Welcome)
    assert welcome.recorded == (RecordedSeq(run_id="r1", attempt=1, seq=7),)
    decisions = session.frames(1, [alive(("r1", "running", 9))], 1.0)
    assert codes(decisions) == ["worker_reconnected"]
    settle_commit(session, decisions)
    assert session.frames(1, events(7, 9), 2.0)[0] == Deliver("r1", 1, events(8, 9))


def test_an_adopted_attempt_of_which_nothing_is_recorded_is_assigned_again() -> None:
    session = make()
    session.place(assign(), 0.0, recorded_seq=0)
    assert sent(online(session)) == [assign()]


def test_an_adopted_attempt_that_its_worker_lost_ends() -> None:
    session = make()
    session.place(assign(), 0.0, recorded_seq=7)
    (decision,) = [decision for decision in online(session) if isinstance(decision, GiveUp)]
    assert decision.reason is not None
    assert decision.reason.code == "worker_lost_after_restart"


def test_adopting_from_a_connected_worker_asks_it_to_report_again() -> None:
    session = make()
    online(session)
    assert isinstance(session.place(assign(), 1.0, recorded_seq=7)[0], Close)
    assert session.link is Link.DISCONNECTED


def test_a_worker_that_is_faster_than_the_adoption_waits_for_its_welcome() -> None:
    session = make()
    session.expect(KEY, 0.0)
    assert session.opened(1, hello(), 1.0) == []
    (welcome,) = sent(session.place(assign(), 2.0, recorded_seq=7))
    assert isinstance(welcome, Welcome)
    assert welcome.recorded == (RecordedSeq(run_id="r1", attempt=1, seq=7),)
    assert not any(
        isinstance(frame, Cancel) for frame in sent(session.frames(1, [alive(("r1", "running", 9))], 2.0))
    )


def test_a_welcome_does_not_wait_for_ever_for_an_adoption() -> None:
    session = make()
    session.expect(KEY, 0.0)
    session.opened(1, hello(), 1.0)
    assert session.next_tick() == 10.0
    assert isinstance(sent(session.tick(10.0))[0], Welcome)
    assert session.next_tick() == 31.0


def test_a_detached_attempt_is_left_alone() -> None:
    session = make()
    running(session)
    assert session.detach(KEY, 2.0) == []
    assert session.attempts() == []


# ------------------------------------------------------------------ strays


def test_an_attempt_nobody_tracks_is_cancelled_and_its_records_acknowledged() -> None:
    session = make()
    cancel = Cancel(run_id="r1", attempt=1, grace_s=0.0)
    assert sent(online(session, ("r1", "running", 5))) == [cancel]
    assert session.frames(1, events(3, 5), 0.0) == []
    assert sent(session.tick(1.0)) == [Ack(run_id="r1", attempt=1, seq=5)]
    result = finished(6)
    assert session.frames(1, [result], 2.0) == [KeepLateResult("r1", 1, 6, result.body)]
    assert sent(session.late_result_kept(KEY, 6, 2.0)) == [Ack(run_id="r1", attempt=1, seq=6)]


def test_a_worker_with_no_end_of_strays_is_remembered_in_part_only() -> None:
    session = make()
    online(session)
    for number in range(MAX_STRAYS + 10):
        record = Event(run_id=f"x{number}", attempt=1, seq=1, ts=0.0, kind="node_status", body=b"{}")
        session.frames(1, [record], 0.0)
    acks = [frame for frame in sent(session.tick(1.0)) if isinstance(frame, Ack)]
    assert (len(acks), acks[0].run_id) == (MAX_STRAYS, "x10")
    assert not [frame for frame in sent(session.tick(1.5)) if isinstance(frame, Ack)]


def test_a_seq_that_no_column_holds_is_noted_once_and_not_counted() -> None:
    session = make()
    running(session)
    records = [
        Event(run_id="r1", attempt=1, seq=seq, ts=0.0, kind="node_status", body=b"{}")
        for seq in (2**63, 2**64 - 1)
    ]
    warnings = [each for each in session.frames(1, records, 1.0) if isinstance(each, Warn)]
    assert [warning.reason.code for warning in warnings] == ["malformed_record"]


def test_an_ended_stray_is_not_cancelled() -> None:
    session = make()
    assert sent(online(session, ("r1", "ended", 5))) == []


def test_a_run_that_was_given_up_and_comes_back_is_a_stray() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    session.tick(1002.0)
    session.settled(KEY, 1002.0)
    assert sent(online(session, ("r1", "running", 9), number=2, now=1010.0)) == [
        Cancel(run_id="r1", attempt=1, grace_s=0.0)
    ]


def test_a_run_that_is_given_up_and_not_settled_yet_is_a_stray_too() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    session.tick(1002.0)
    assert sent(online(session, ("r1", "running", 9), number=2, now=1002.1)) == [
        Cancel(run_id="r1", attempt=1, grace_s=0.0)
    ]
    assert session.frames(2, events(2, 9), 1002.2) == []
    session.settled(KEY, 1002.3)
    assert sent(session.tick(1003.3)) == [Ack(run_id="r1", attempt=1, seq=9)]


# ------------------------------------------------------------------ the worker itself


def test_an_online_worker_hears_something_every_ten_seconds() -> None:
    session = make()
    online(session)
    assert session.next_tick() == 10.0
    assert sent(session.tick(10.0)) == [Drain(draining=False)]
    session.frames(1, [Heartbeat(devices=(CPU,))], 15.0)
    assert session.next_tick() == 20.0


def test_draining_is_told_and_outlives_the_connection() -> None:
    session = make()
    online(session)
    assert session.drain(True, 1.0) == [Send(1, Drain(draining=True)), WorkerChanged()]
    session.closed(1, 2.0)
    (welcome,) = sent(session.opened(2, hello(), 3.0))
    assert isinstance(welcome, Welcome)
    assert welcome.draining


def test_other_devices_and_a_catalog_are_news() -> None:
    session = make()
    online(session)
    warmer = Device(name="cpu", kind="cpu", load=0.9)
    assert session.frames(1, [Heartbeat(devices=(warmer,))], 1.0) == []
    assert session.devices == (warmer,)
    card = Device(name="cuda:0", kind="cuda", uuid="GPU-1")
    assert session.frames(1, [Heartbeat(devices=(CPU, card))], 2.0) == [WorkerChanged()]
    assert session.frames(1, [Catalog(catalog_hash="h", node_types=("A",))], 3.0) == [WorkerChanged()]
    assert session.catalog is not None


def test_an_outdated_worker_delivers_and_gets_nothing_new() -> None:
    session = make()
    running(session)
    settle_commit(session, session.closed(1, 2.0))
    (welcome,) = sent(session.opened(2, hello(version="0.9"), 3.0, outdated=True))
    assert isinstance(welcome, Welcome)
    assert welcome.outdated
    settle_commit(session, session.frames(2, [alive(("r1", "running", 3))], 3.0))
    assert session.frames(2, events(2, 3), 4.0)[0] == Deliver("r1", 1, events(2, 3))
    (decision,) = session.place(assign("r2"), 5.0)
    assert isinstance(decision, GiveUp)
    assert decision.reason is not None
    assert decision.reason.code == "version_mismatch"


def test_only_common_features_are_used() -> None:
    session = make()
    assert session.capabilities == frozenset()
    session.opened(
        1, Hello(name="w1", product_version="1", protocol_version=1, capabilities=("ack", "s3")), 0.0
    )
    assert session.capabilities == frozenset({"ack"})


def test_every_kind_of_record_is_delivered_but_the_report() -> None:
    session = make()
    online(session)
    session.place(assign(), 0.0)
    kinds = [kind for kind in RUN_RECORD_TYPES if kind is not RunFinished]
    batch: list[RunRecord] = [
        kind(run_id="r1", attempt=1, seq=seq, ts=0.0, body=b"{}") for seq, kind in enumerate(kinds, 1)
    ]
    assert session.frames(1, batch, 0.0)[0] == Deliver("r1", 1, tuple(batch))
