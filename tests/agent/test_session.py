"""The agent's session by itself: events in, the list of decisions out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from codefy_agent.session import (
    AgentSession,
    CancelAttempt,
    CloseConnection,
    ExitAgent,
    FinishAttempt,
    ForgetAttempt,
    IllegalEvent,
    ReconnectAt,
    RestoredAttempt,
    SendControl,
    SendRecords,
    SessionSettings,
    StartAttempt,
    TruncateSpool,
)
from codefy_protocol.bodies import RunFinishedBody
from codefy_protocol.frames import (
    Ack,
    Assign,
    AttemptState,
    Cancel,
    Catalog,
    Device,
    DeviceIdentity,
    Drain,
    Frame,
    Heartbeat,
    Hello,
    RecordedSeq,
    Reject,
    RunAlive,
    Welcome,
)

CPU = Device(name="cpu", kind="cpu")
CARD = Device(name="cuda:0", kind="cuda", uuid="GPU-1")


def make(
    *restored: RestoredAttempt, devices: tuple[Device, ...] = (CPU, CARD), **settings: Any
) -> AgentSession:
    hello = Hello(name="w1", product_version="1", protocol_version=1, devices=devices)
    return AgentSession(hello, random=lambda: 0.5, settings=SessionSettings(**settings), restored=restored)


def welcome(*recorded: tuple[str, int, int], **fields: Any) -> Welcome:
    return Welcome(
        worker_id="w1",
        product_version="1",
        heartbeat_s=10.0,
        grace_s=30.0,
        resume_grace_s=100.0,
        recorded=tuple(RecordedSeq(run_id=run, attempt=attempt, seq=seq) for run, attempt, seq in recorded),
        **fields,
    )


def assign(run_id: str = "r1", attempt: int = 1, *devices: tuple[str, str | None]) -> Assign:
    return Assign(
        run_id=run_id,
        attempt=attempt,
        graph=b"{}",
        payload_cap=1000,
        device="cpu",
        devices=tuple(DeviceIdentity(name=name, uuid=uuid) for name, uuid in devices or (("cpu", None),)),
        grace_s=20.0,
    )


def live(session: AgentSession, now: float = 0.0, *recorded: tuple[str, int, int]) -> list[Any]:
    """Connect and be welcome; returns the decisions. What is queued for sending is taken."""
    session.connected(now)
    session.writable(now)
    decisions = session.frames_received([welcome(*recorded)], now)
    return decisions


def append(
    session: AgentSession, count: int = 1, *, run_id: str = "r1", size: int = 10, final: bool = False
) -> None:
    first = session.reserve(run_id, 1, count)
    session.records_appended(run_id, 1, first, [size] * count, 0.0, final=final)


def control(session: AgentSession, now: float = 0.0) -> list[Frame]:
    return [sending.frame for sending in session.writable(now) if isinstance(sending, SendControl)]


def records(session: AgentSession, now: float = 0.0) -> list[tuple[str, int, int]]:
    return [
        (sending.run_id, sending.first_seq, sending.last_seq)
        for sending in session.writable(now)
        if isinstance(sending, SendRecords)
    ]


def why(decision: Any) -> str:
    """The error code of a ``FinishAttempt``."""
    assert isinstance(decision, FinishAttempt)
    body = msgspec.json.decode(decision.body, type=RunFinishedBody)
    assert body.status == "failed"
    assert body.error is not None
    return body.error.code


# ------------------------------------------------------------------ connecting


def test_hello_is_the_first_frame_and_nothing_else_goes_out_before_the_welcome() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=0, sizes=(5,), ended=True))
    assert session.start(3.0) == [ReconnectAt(3.0)]
    session.connected(3.0)
    assert isinstance(control(session)[0], Hello)
    assert session.writable(3.0) == []


def test_run_alive_comes_first_then_the_rest() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=2, sizes=(5, 5), ended=True))
    session.catalog_known(Catalog(catalog_hash="h", node_types=("A",)))
    live(session)
    sendings = session.writable(0.0)
    frames = [type(sending.frame) for sending in sendings if isinstance(sending, SendControl)]
    assert frames == [RunAlive, Catalog, Heartbeat]
    assert sendings[-1] == SendRecords("r1", 1, 3, 4)


def test_replay_starts_after_what_is_recorded() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 5)
    assert records(session) == [("r1", 1, 5)]
    session.disconnected(1.0)
    decisions = live(session, 2.0, ("r1", 1, 3))
    assert decisions == [TruncateSpool("r1", 1, 3)]
    sendings = session.writable(2.0)
    assert sendings[0] == SendControl(
        RunAlive(attempts=(AttemptState(run_id="r1", attempt=1, state="running", last_seq=5),))
    )
    assert sendings[-1] == SendRecords("r1", 1, 4, 5)


def test_another_first_frame_than_welcome_closes() -> None:
    session = make()
    session.connected(0.0)
    assert isinstance(session.frames_received([Drain(draining=True)], 0.0)[0], CloseConnection)


def test_a_second_welcome_closes_and_what_follows_it_is_ignored() -> None:
    session = make()
    live(session)
    decisions = session.frames_received([welcome(), assign()], 0.0)
    assert [type(decision) for decision in decisions] == [CloseConnection]
    assert not session.wants_to_send


def test_no_welcome_in_time_closes() -> None:
    session = make()
    session.connected(0.0)
    assert session.next_tick() == 20.0
    assert session.tick(19.9) == []
    assert isinstance(session.tick(20.0)[0], CloseConnection)


def test_back_off_doubles_to_its_limit_and_starts_anew_after_a_steady_connection() -> None:
    session = make(backoff_first_s=1.0, backoff_max_s=5.0)
    delays: list[float] = []
    for _ in range(5):
        (decision,) = session.disconnected(0.0)
        assert isinstance(decision, ReconnectAt)
        delays.append(decision.at)
    assert delays == [0.75, 1.5, 3.0, 3.75, 3.75]
    live(session, 10.0)
    assert session.disconnected(11.0) == [ReconnectAt(11.0 + 3.75)]  # it was live for a second only
    live(session, 20.0)
    assert session.disconnected(26.0) == [ReconnectAt(26.0 + 0.75)]


def test_connected_twice_is_illegal() -> None:
    session = make()
    session.connected(0.0)
    with pytest.raises(IllegalEvent, match="hello_sent"):
        session.connected(0.0)


@pytest.mark.parametrize("fatal", [True, False])
def test_reject(fatal: bool) -> None:
    session = make()
    session.connected(0.0)
    decisions = session.frames_received([Reject(code="replaced", text="A newer agent", fatal=fatal)], 0.0)
    expected = ExitAgent(1, "A newer agent") if fatal else CloseConnection("A newer agent")
    assert decisions == [expected]
    assert session.disconnected(0.0) == [] or not fatal


def test_refused_before_accept_ends_a_new_agent_only() -> None:
    session = make()
    assert session.refused("4401", "wrong token", 0.0) == [ExitAgent(1, "wrong token")]
    known = make()
    live(known)
    known.disconnected(1.0)
    (decision,) = known.refused("4401", "wrong token", 2.0)
    assert isinstance(decision, ReconnectAt)


# ------------------------------------------------------------------ liveness


def test_heartbeats_keep_their_pace_and_do_not_pile_up() -> None:
    session = make()
    live(session)
    assert any(isinstance(frame, Heartbeat) for frame in control(session))
    assert session.next_tick() == 10.0
    session.tick(10.0)
    session.tick(20.0)  # the socket took nothing in between
    assert [type(frame) for frame in control(session)] == [Heartbeat]


def test_heartbeats_come_at_least_every_twenty_seconds() -> None:
    session = make()
    session.connected(0.0)
    session.frames_received([msgspec.structs.replace(welcome(), heartbeat_s=300.0)], 0.0)
    assert session.next_tick() == 20.0


def test_a_heartbeat_tells_devices_and_runs() -> None:
    session = make()
    live(session)
    control(session)
    session.frames_received([assign()], 0.0)
    busy = Device(name="cpu", kind="cpu", load=0.5)
    session.devices_read((busy,), 0.0)
    session.tick(10.0)
    assert control(session) == [Heartbeat(devices=(busy,), run_ids=("r1",))]


def test_silence_closes_after_three_heartbeats() -> None:
    session = make()
    live(session)
    session.tick(10.0)
    session.tick(20.0)
    assert session.tick(29.9) == []
    (decision,) = session.tick(30.0)
    assert decision == CloseConnection("nothing was heard from the control plane for 30 s")


def test_any_frame_is_a_sign_of_life() -> None:
    session = make()
    live(session)
    session.frames_received([Drain(draining=False)], 25.0)
    session.tick(30.0)
    assert session.tick(54.9) == []
    assert isinstance(session.tick(55.0)[0], CloseConnection)


def test_a_late_timer_proves_nothing_once() -> None:
    session = make()
    live(session)
    assert session.tick(500.0) == []  # the machine slept
    due = session.next_tick()
    assert due == 510.0
    assert isinstance(session.tick(511.5)[0], CloseConnection)


# ------------------------------------------------------------------ assignments


def test_an_assignment_starts() -> None:
    session = make()
    live(session)
    frame = assign()
    assert session.frames_received([frame], 0.0) == [StartAttempt(frame)]
    assert session.running() == [("r1", 1)]
    assert session.reserve("r1", 1) == 1


def test_the_same_assignment_again_changes_nothing() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    assert session.frames_received([assign()], 0.0) == []
    append(session, final=True)
    assert session.frames_received([assign()], 0.0) == []


def test_a_second_copy_of_a_run_is_refused() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    (decision,) = session.frames_received([assign(attempt=2)], 0.0)
    assert why(decision) == "duplicate_assignment"
    assert session.running() == [("r1", 1)]


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        ((("cpu", None),), False),
        ((("cuda:0", "GPU-1"),), False),
        ((("cuda:0", None),), False),
        ((("cuda:0", "GPU-2"),), True),
        ((("cpu", None), ("cuda:1", None)), True),
    ],
)
def test_only_offered_devices_are_taken(wanted: tuple[tuple[str, str | None], ...], refused: bool) -> None:
    session = make()
    live(session)
    (decision,) = session.frames_received([assign("r1", 1, *wanted)], 0.0)
    if refused:
        assert why(decision) == "device_not_offered"
    else:
        assert isinstance(decision, StartAttempt)


@pytest.mark.parametrize("how", ["drain", "welcome", "stop"])
def test_a_draining_agent_refuses(how: str) -> None:
    session = make(RestoredAttempt(run_id="r0", attempt=1, acked_seq=0, sizes=(1,), ended=True))
    session.connected(0.0)
    session.frames_received([welcome(draining=how == "welcome")], 0.0)
    if how == "drain":
        session.frames_received([Drain(draining=True)], 0.0)
    if how == "stop":
        session.stop(0.0)
    (decision,) = session.frames_received([assign()], 0.0)
    assert why(decision) == "agent_draining"
    append(session, final=True)
    assert ("r1", 1, 1) in records(session)


def test_an_undrained_agent_takes_runs_again() -> None:
    session = make()
    live(session)
    session.frames_received([Drain(draining=True), Drain(draining=False)], 0.0)
    assert isinstance(session.frames_received([assign()], 0.0)[0], StartAttempt)


# ------------------------------------------------------------------ cancel


def test_cancel_once_and_again_with_a_shorter_grace() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    cancel = Cancel(run_id="r1", attempt=1, grace_s=10.0)
    assert session.frames_received([cancel], 0.0) == [CancelAttempt("r1", 1, 10.0)]
    assert session.frames_received([cancel], 0.0) == []
    again = Cancel(run_id="r1", attempt=1, grace_s=0.0)
    assert session.frames_received([again], 0.0) == [CancelAttempt("r1", 1, 0.0)]


def test_the_grace_of_cancel_wins_over_that_of_assign() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    assert session.frames_received([Cancel(run_id="r1", attempt=1)], 0.0) == [CancelAttempt("r1", 1, 20.0)]


def test_cancel_of_what_is_not_running_is_ignored() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, final=True)
    cancels = [Cancel(run_id="r1", attempt=1), Cancel(run_id="r9", attempt=1), Cancel(run_id="r1", attempt=2)]
    assert session.frames_received(cancels, 0.0) == []


# ------------------------------------------------------------------ records, window, turns


def test_acks_truncate_and_the_last_one_forgets() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 3)
    records(session)
    assert session.frames_received([Ack(run_id="r1", attempt=1, seq=2)], 0.0) == [TruncateSpool("r1", 1, 2)]
    assert session.frames_received([Ack(run_id="r1", attempt=1, seq=1)], 0.0) == []
    assert session.unacknowledged("r1", 1) == 1
    append(session, final=True)
    records(session)
    assert session.frames_received([Ack(run_id="r1", attempt=1, seq=4)], 0.0) == [
        TruncateSpool("r1", 1, 4),
        ForgetAttempt("r1", 1),
    ]
    assert session.unacknowledged("r1", 1) == 0


def test_everything_acknowledged_does_not_forget_a_running_attempt() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 3)
    records(session)
    assert session.frames_received([Ack(run_id="r1", attempt=1, seq=3)], 0.0) == [TruncateSpool("r1", 1, 3)]
    assert session.reserve("r1", 1) == 4


def test_an_attempt_that_was_delivered_is_not_run_again() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 2, final=True)
    session.frames_received([Ack(run_id="r1", attempt=1, seq=2)], 0.0)
    (decision,) = session.frames_received([assign()], 0.0)
    assert why(decision) == "duplicate_assignment"
    assert session.reserve("r1", 1) == 3  # the seq goes on: what is recorded is never overwritten


def test_the_window_counts_frames() -> None:
    session = make(window_frames=4)
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 10)
    assert records(session) == [("r1", 1, 4)]
    assert not session.wants_to_send
    session.frames_received([Ack(run_id="r1", attempt=1, seq=3)], 0.0)
    assert session.wants_to_send
    assert records(session) == [("r1", 5, 7)]


def test_the_window_counts_bytes_and_lets_one_record_through_whatever_its_size() -> None:
    session = make(window_bytes=100)
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 1, size=500)
    append(session, 3, size=40)
    assert records(session) == [("r1", 1, 1)]
    session.frames_received([Ack(run_id="r1", attempt=1, seq=1)], 0.0)
    assert records(session) == [("r1", 2, 3)]


def test_attempts_take_turns() -> None:
    session = make(turn_frames=2, write_bytes=45)
    live(session)
    session.frames_received([assign("r1"), assign("r2")], 0.0)
    append(session, 5, run_id="r1")
    append(session, 5, run_id="r2")
    assert records(session) == [("r1", 1, 2), ("r2", 1, 2), ("r1", 3, 3)]
    assert records(session) == [("r2", 3, 4), ("r1", 4, 5), ("r2", 5, 5)]
    assert not session.wants_to_send


def test_one_runs_full_window_does_not_stop_another() -> None:
    session = make(window_frames=2)
    live(session)
    session.frames_received([assign("r1"), assign("r2")], 0.0)
    append(session, 5, run_id="r1")
    assert records(session) == [("r1", 1, 2)]
    append(session, 1, run_id="r2")
    assert records(session) == [("r2", 1, 1)]


def test_a_heartbeat_goes_before_a_replay() -> None:
    session = make(write_bytes=20, turn_frames=2)
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, 100)
    session.writable(0.0)
    session.tick(10.0)
    sendings = session.writable(10.0)
    assert isinstance(sendings[0], SendControl)
    assert isinstance(sendings[0].frame, Heartbeat)
    assert [type(sending) for sending in sendings[1:]] == [SendRecords]


def test_records_are_spooled_in_the_order_of_their_seq() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    assert session.reserve("r1", 1, 2) == 1
    assert session.reserve("r1", 1) == 3
    with pytest.raises(IllegalEvent):
        session.records_appended("r1", 1, 3, [1], 0.0)
    with pytest.raises(IllegalEvent, match="before its records"):
        session.records_appended("r1", 1, 1, [1, 1], 0.0, final=True)


def test_nothing_follows_the_end() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    append(session, final=True)
    with pytest.raises(IllegalEvent, match="after its run_finished"):
        session.reserve("r1", 1)
    with pytest.raises(IllegalEvent):
        session.reserve("r9", 1)


# ------------------------------------------------------------------ what an agent before this one left


def test_an_orphan_ends_as_agent_restarted_after_what_is_recorded() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=2, sizes=(5, 5), ended=False))
    decisions = live(session, 0.0, ("r1", 1, 3))
    assert decisions[0] == TruncateSpool("r1", 1, 3)
    assert why(decisions[1]) == "agent_restarted"
    (alive,) = [frame for frame in control(session) if isinstance(frame, RunAlive)]
    assert alive.attempts == (AttemptState(run_id="r1", attempt=1, state="ended", last_seq=4),)
    assert session.reserve("r1", 1) == 5


def test_a_torn_spool_goes_on_after_what_is_recorded() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=2, sizes=(5,), ended=False))
    decisions = live(session, 0.0, ("r1", 1, 9))
    assert decisions[0] == TruncateSpool("r1", 1, 9)
    assert session.reserve("r1", 1) == 10


def test_an_orphan_is_ended_once() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=0, sizes=(5,), ended=False))
    live(session)
    append(session, final=True)
    session.disconnected(1.0)
    assert not any(isinstance(decision, FinishAttempt) for decision in live(session, 2.0))


# ------------------------------------------------------------------ stopping


def test_stop_cancels_delivers_and_exits() -> None:
    session = make()
    live(session)
    session.frames_received([assign()], 0.0)
    assert session.stop(1.0, 10.0) == [CancelAttempt("r1", 1, 10.0, "agent_stopped")]
    append(session, final=True)
    records(session)
    assert session.frames_received([Ack(run_id="r1", attempt=1, seq=1)], 2.0)[-1] == ExitAgent(0, "stopped")


def test_stop_does_not_wait_for_ever_for_the_ack() -> None:
    session = make(stop_flush_s=5.0)
    live(session)
    session.frames_received([assign()], 0.0)
    session.stop(1.0)
    first = session.reserve("r1", 1)
    assert session.records_appended("r1", 1, first, [5], 3.0, final=True) == []
    due = session.next_tick()
    assert due == 8.0
    assert session.tick(8.0)[-1] == ExitAgent(0, "stopped")


def test_stop_without_a_connection_exits_once_nothing_runs() -> None:
    session = make(RestoredAttempt(run_id="r1", attempt=1, acked_seq=0, sizes=(5,), ended=True))
    session.disconnected(0.0)
    assert session.stop(1.0) == [ExitAgent(0, "stopped")]
