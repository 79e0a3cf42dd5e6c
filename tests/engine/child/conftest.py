"""Real run children, and a package with nodes for them that is found as any installed package is."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codefy_engine.graph import Builder, canonical_bytes
from codefy_engine.nodes.registry import default_registry
from codefy_protocol.frames import DeviceIdentity
from codefy_protocol.pipe import (
    ChildMessage,
    ChildRecord,
    ChunkReader,
    StartRun,
    decode_child_messages,
    encode_chunk,
)

WAIT_S = 60
"""A bound for a busy machine: a test that hangs is to fail."""

NODES = '''
import atexit, json, os, resource, signal, subprocess, sys, threading, time
from codefy_engine.nodes.base import Node, node, param

@node(type="Does", title="Does", category="flow", icon="x")
class Does(Node):
    """Do what a test asks for."""
    what: str = param("nothing")
    count: int = param(0)

    def run(self, ctx):
        getattr(self, self.what)(ctx)

    def nothing(self, ctx):
        pass

    def facts(self, ctx):
        print(json.dumps({
            "heavy": sorted({"torch", "numpy", "sklearn"} & set(sys.modules)),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "device": ctx.device,
            "run_dir": str(ctx.run_dir),
        }))
        print("to the console: \\u00e9", file=sys.stderr)

    def circumstances(self, ctx):
        import torch
        tasks = sorted(int(name) for name in os.listdir("/proc/self/task"))
        print(json.dumps({
            "order": list({"alpha", "beta", "gamma", "delta", "epsilon"}),
            "folder": os.getcwd(),
            "context": torch.cuda.is_initialized(),
            "compiler": "torch._dynamo" in sys.modules,
            "heavy": sorted({"torch", "sklearn"} & set(sys.modules)),
            "gradients": torch.is_grad_enabled(),
            "threads": torch.get_num_threads(),
            "priorities": sorted({os.getpriority(os.PRIO_PROCESS, task) for task in tasks}),
        }))

    def hold(self, ctx):
        ctx.progress(0.1, text="holding")
        while not ctx.stopped:
            time.sleep(0.005)
        ctx.check_stop()

    def ignore(self, ctx):
        ctx.progress(0.1, text="ignoring")
        while True:
            time.sleep(0.005)

    def interrupt(self, ctx):
        os.kill(os.getpid(), signal.SIGINT)

    def many(self, ctx):
        for step in range(1, self.count + 1):
            ctx.metric("loss", 1.0, step)

    def artifact(self, ctx):
        path = ctx.artifact_path("result.txt")
        path.write_text("hello")
        ctx.artifact("text", "result.txt", path)

    def fail(self, ctx):
        raise ValueError("not today")

    def crash(self, ctx):
        import ctypes
        ctypes.string_at(0)

    def leave_thread(self, ctx):
        threading.Thread(target=time.sleep, args=(600,)).start()
        atexit.register(print, "exit handler ran")

    def slow_exit(self, ctx):
        atexit.register(time.sleep, 600)

    def grandchild(self, ctx):
        other = subprocess.Popen(["sleep", "600"], close_fds=False, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        ctx.metric("pid", other.pid, 1)
'''


@dataclass
class Child:
    """A child process and its pipe, seen from the agent's side."""

    process: subprocess.Popen[bytes]
    to_child: int
    from_child: int
    folder: Path
    _chunks: ChunkReader = field(default_factory=ChunkReader)
    _ready: list[ChildMessage] = field(default_factory=list)
    _closed: set[int] = field(default_factory=set)

    def send(self, *messages: Any) -> None:
        data = encode_chunk(messages)
        while data:
            data = data[os.write(self.to_child, data) :]

    def start_run(self, graph: bytes, **fields: Any) -> None:
        values: dict[str, Any] = {
            "run_id": "run-1",
            "attempt": 2,
            "graph": graph,
            "options": b"{}",
            "payload_cap": 131072,
            "device": "cpu",
            "devices": (DeviceIdentity(name="cpu"),),
            "run_dir": str(self.folder / "run"),
            "files_dir": str(self.folder / "files"),
        }
        self.send(StartRun(**{**values, **fields}))

    def next(self) -> ChildMessage | None:
        """The next message, or ``None`` at the end of the pipe."""
        deadline = time.monotonic() + WAIT_S
        while not self._ready:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.from_child], [], [], left)[0], "the child says nothing"
            data = os.read(self.from_child, 1 << 16)
            if not data:
                return None
            for chunk in self._chunks.feed(data):
                self._ready += decode_child_messages(chunk)
        return self._ready.pop(0)

    def rest(self) -> list[ChildRecord]:
        """All records up to the end of the pipe."""
        records: list[ChildRecord] = []
        while (message := self.next()) is not None:
            if isinstance(message, ChildRecord):
                records.append(message)
        return records

    def until(self, kind: str) -> ChildRecord:
        """Read up to a record of ``kind``."""
        while True:
            message = self.next()
            assert message is not None, f"the child ended before {kind}"
            if isinstance(message, ChildRecord) and kind in (message.kind, message.frame):
                return message

    def close(self, fd: int) -> None:
        if fd not in self._closed:
            self._closed.add(fd)
            os.close(fd)

    def ended(self) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        out, err = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, out.decode(), err.decode()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with an installed package: a module, and metadata that name it under ``codefy.nodes``."""
    folder = tmp_path / "site"
    info = folder / "codefy_test_nodes-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "codefy_test_nodes.py").write_text(NODES)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: codefy-test-nodes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[codefy.nodes]\ntest = codefy_test_nodes\n")
    return folder


@pytest.fixture
def new_child(tmp_path: Path, package: Path) -> Iterator[Callable[..., Child]]:
    children: list[Child] = []

    def start(**environment: str) -> Child:
        # What the tests import is what the child is to import.
        paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
        child_reads, to_child = os.pipe()
        from_child, child_writes = os.pipe()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "codefy_engine.child",
                "--read-fd",
                str(child_reads),
                "--write-fd",
                str(child_writes),
            ],
            pass_fds=(child_reads, child_writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "LC_ALL": "C", **environment},
        )
        os.close(child_reads)
        os.close(child_writes)
        children.append(Child(process, to_child, from_child, tmp_path))
        return children[-1]

    yield start
    for child in children:
        if child.process.poll() is None:
            child.process.kill()
        child.process.communicate()
        child.close(child.to_child)
        child.close(child.from_child)


@pytest.fixture
def does() -> Callable[..., bytes]:
    """A graph with one node ``it`` of the test package."""

    def graph(what: str, **params: Any) -> bytes:
        builder = Builder("test", registry=default_registry())
        builder.add("Does", "it", what=what, **params)
        return canonical_bytes(builder.build())

    return graph


@pytest.fixture
def body() -> Callable[[ChildRecord], Any]:
    return lambda record: msgspec.json.decode(record.body)
