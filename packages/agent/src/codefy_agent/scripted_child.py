"""A run child for tests: speaks the pipe protocol without torch and does what a script says.

The script is the key ``script`` of the graph document (unknown keys of a graph survive their way), a list of steps, each a
list of a verb and its arguments. Without one the run succeeds at once. Paths are relative to the run's folder.

=====================  ====================================================================================
``event KIND BODY``    an event record with a JSON body
``events N``           N small ``node_progress`` events, in chunks
``metrics N``          N metrics records with one point each
``print TEXT``         to stdout
``touch FILE``         make a file (how a test learns where the run is)
``wait FILE``          go on when the file exists
``wait_stop``          go on when the agent asked to stop
``ignore_sigterm``     from now on
``ignore_stop``        ``StopRun`` does not end the run
``spawn HOW FILE``     start a grandchild and write its process id: ``plain``, ``setsid``, ``double_fork``
                       (all of them ignore SIGTERM and hold the console and the pipe open)
``finish STATUS``      write ``run_finished`` (``succeeded``, ``failed``) and go on with the script
``die SIGNAL``         kill this process
``exit CODE``          exit without a report
``garbage``            write something into the pipe that is no chunk
``hang``               sleep for an hour
=====================  ====================================================================================

``CODEFY_SCRIPTED_NODE_TYPES`` are the node types that it says to have, with commas between them.
``CODEFY_SCRIPTED_ENGINE_VERSION`` is what the preamble says instead of the real version. As a standby child it says that it
was made from the files ``CODEFY_SCRIPTED_WATCHES`` (separated as in ``PATH``).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from codefy_agent.environment import device_aliases
from codefy_protocol import PROTOCOL_VERSION, __version__, pipe
from codefy_protocol.bodies import MetricPoint, MetricsBody, RunError, RunFinishedBody, RunStartedBody
from codefy_protocol.discovery import Discovery
from codefy_protocol.envelope import encode_body
from codefy_protocol.watched import modification_times

_CHUNK_RECORDS = 200
_POLL_S = 0.002


class _Script(msgspec.Struct):
    script: list[list[Any]] = []


class ScriptedChild:
    """One run, from its preamble to its end."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._stop = threading.Event()
        self._ignore_stop = False
        self._finished = False
        self._verbs: dict[str, Callable[..., None]] = {
            "event": self._event,
            "events": self._events,
            "metrics": self._metrics,
            "print": self._print,
            "touch": self._touch,
            "wait": self._wait,
            "wait_stop": self._wait_stop,
            "ignore_sigterm": self._ignore_sigterm,
            "ignore_stop": self._ignore_stops,
            "spawn": self._spawn,
            "finish": self._finish,
            "die": self._die,
            "exit": self._exit,
            "garbage": self._garbage,
            "hang": self._hang,
        }

    def run(self) -> int:
        version = os.environ.get("CODEFY_SCRIPTED_ENGINE_VERSION", __version__)
        self._say(pipe.Preamble(protocol_version=PROTOCOL_VERSION, engine_version=version, pid=os.getpid()))
        reader = pipe.ChunkReader()
        start = self._first(reader)
        if start is None:
            return 1
        os.chdir(start.run_dir)
        threading.Thread(target=self._listen, args=(reader,), daemon=True).start()
        visible = [each for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each]
        self._record(
            "run_started",
            RunStartedBody(
                pid=os.getpid(),
                engine_version=version,
                device=start.device,
                visible_devices=visible,
                device_aliases=device_aliases(start.devices),
            ),
        )
        for verb, *arguments in msgspec.json.decode(start.graph, type=_Script).script:
            if self._stop.is_set() and not self._ignore_stop:
                break
            self._verbs[verb](*arguments)
        if not self._finished:
            stopped = self._stop.is_set() and not self._ignore_stop
            self._finish("cancelled" if stopped else "succeeded")
        return 0

    # -------------------------------------------------------------- the pipe
    def _first(self, reader: pipe.ChunkReader) -> pipe.StartRun | None:
        start: pipe.StartRun | None = None
        while start is None and (data := os.read(self._read, 65536)):
            for chunk in reader.feed(data):
                for message in pipe.decode_agent_messages(chunk):
                    if isinstance(message, pipe.StartRun):
                        start = message
                    elif isinstance(message, pipe.WarmUp):
                        self._warm_up()
                    else:  # a stop may come right behind
                        self._stop.set()
        return start

    def _warm_up(self) -> None:
        print("a line from the imports", flush=True)
        watched = os.environ.get("CODEFY_SCRIPTED_WATCHES", "").split(os.pathsep)
        self._say(pipe.Warm(files=modification_times(filter(None, watched))))

    def _listen(self, reader: pipe.ChunkReader) -> None:
        while data := os.read(self._read, 65536):
            for chunk in reader.feed(data):
                if any(isinstance(message, pipe.StopRun) for message in pipe.decode_agent_messages(chunk)):
                    self._stop.set()
        self._stop.set()

    def _say(self, *messages: pipe.ChildMessage) -> None:
        view = memoryview(pipe.encode_chunk(messages))
        while view:
            view = view[os.write(self._write, view) :]

    def _record(self, frame: str, body: Any, kind: str = "") -> None:
        self._say(pipe.ChildRecord(frame=frame, ts=time.time(), kind=kind, body=encode_body(body)))

    # -------------------------------------------------------------- verbs
    def _event(self, kind: str, body: Any) -> None:
        self._record("event", body, kind)

    def _events(self, count: int) -> None:
        for first in range(0, count, _CHUNK_RECORDS):
            numbers = range(first, min(first + _CHUNK_RECORDS, count))
            self._say(
                *(
                    pipe.ChildRecord(
                        frame="event",
                        ts=time.time(),
                        kind="node_progress",
                        body=encode_body(
                            {"node_id": "scripted", "fraction": number / count, "number": number}
                        ),
                    )
                    for number in numbers
                )
            )

    def _metrics(self, count: int) -> None:
        for step in range(1, count + 1):
            point = MetricPoint(name="loss", value=1 / step, step=step, node_id="scripted", ts=time.time())
            self._record("metrics", MetricsBody(points=[point]))

    def _print(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def _touch(self, file: str) -> None:
        Path(file).touch()

    def _wait(self, file: str) -> None:
        while not Path(file).exists() and (self._ignore_stop or not self._stop.is_set()):
            time.sleep(_POLL_S)

    def _wait_stop(self) -> None:
        self._stop.wait()

    def _ignore_sigterm(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def _ignore_stops(self) -> None:
        self._ignore_stop = True

    def _spawn(self, how: str, file: str) -> None:
        pid = os.fork()
        if pid:
            while not Path(file).exists():
                time.sleep(_POLL_S)
            if how == "double_fork":
                os.waitpid(pid, 0)
            return
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if how != "plain":
            os.setsid()
        if how == "double_fork" and os.fork():
            os._exit(0)
        temporary = Path(f"{file}.new")
        temporary.write_text(str(os.getpid()))
        temporary.rename(file)
        while True:
            time.sleep(3600)

    def _finish(self, status: str) -> None:
        error = RunError(code="node_failed", message="as the script says") if status == "failed" else None
        self._record("run_finished", RunFinishedBody(status=status, error=error))
        self._finished = True

    def _die(self, name: str) -> None:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(3600)

    def _exit(self, code: int) -> None:
        os._exit(code)

    def _garbage(self) -> None:
        os.write(self._write, b"\xff" * 64)

    def _hang(self) -> None:
        time.sleep(3600)


def main() -> None:
    if sys.argv[1:2] == ["--discover"]:
        types = filter(None, os.environ.get("CODEFY_SCRIPTED_NODE_TYPES", "").split(","))
        found = Discovery(
            engine=__version__, catalog_hash="", node_types=dict.fromkeys(types, ""), fingerprint=""
        )
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--read-fd", type=int, required=True)
    parser.add_argument("--write-fd", type=int, required=True)
    options = parser.parse_args()
    sys.exit(ScriptedChild(options.read_fd, options.write_fd).run())


if __name__ == "__main__":
    main()
