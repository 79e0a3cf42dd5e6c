"""The agent process as a whole, with scripted children, against a control plane of the real codec."""

from __future__ import annotations

from pathlib import Path

from codefy_protocol.frames import Event, Heartbeat, RunAlive, RunFinished, RunStarted


async def test_hello_says_who_and_what(control, agent) -> None:
    hello = control.hellos[0]
    assert (hello.name, hello.pid, hello.protocol_version) == ("w1", agent.pid, 1)
    assert hello.devices[0].name == "cpu"
    assert hello.incarnation and hello.platform
    assert {"ack", "console"} <= set(hello.capabilities)
    assert control.paths == ["/ws/worker"] and control.origins == [None]
    await control.until(lambda: any(isinstance(frame, Heartbeat) for frame in control.frames))
    assert any(isinstance(frame, RunAlive) for frame in control.frames)


async def test_a_run_from_assign_to_finish(control, agent) -> None:
    await control.assign(
        "r1", ["event", "node_status", {"node_id": "a", "status": "running"}], ["print", "hello"]
    )
    finished = await control.finished("r1")
    assert finished.status == "succeeded"
    assert len(control.of("r1", RunStarted)) == 1
    assert [event.body for event in control.of("r1", Event)] == [b'{"node_id":"a","status":"running"}']
    assert sorted(control.records["r1", 1]) == list(range(1, len(control.records["r1", 1]) + 1))
    assert isinstance(control.records["r1", 1][max(control.records["r1", 1])], RunFinished)
    assert (agent.run_folder("r1") / "output.log").read_text() == "hello\n"
    await agent.until(lambda state: not Path(agent.run_folder("r1") / "spool").exists())
    assert list((agent.run_folder("r1") / "run").iterdir()) == []
