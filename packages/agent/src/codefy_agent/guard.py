"""The small process between an agent and one run: whatever happens, nothing of the run outlives it.

Started by path, ``python -I -S guard.py LIFELINE REPORT CONSOLE KEEP -- PROGRAM ARGUMENTS…``, with the standard library
only, so that it starts in milliseconds and stays small. The numbers are inherited file descriptors:

- ``LIFELINE``: read end of a pipe whose write end only the agent holds. End of file means that the agent is gone, however
  it went. The bytes ``T`` and ``K`` ask to terminate the child, or to kill everything.
- ``REPORT``: lines to the agent: ``started PID``, ``failed TEXT``, ``exited CODE``, ``killed SIGNAL``, ``stuck PID …``,
  ``clean``.
- ``CONSOLE``: becomes the child's stdout and stderr.
- ``KEEP``: comma-separated descriptors that the child inherits as they are, or ``-``.

The child leads a session of its own. When it exits, or the agent does, every descendant is killed until none is left.
On Linux the guard is a *subreaper*: orphans of the run, double-forked or in sessions of their own, become its children,
so "no child left" means that the run is gone. Elsewhere it follows the process table.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 1.0
"""Where there is no subreaper: how often the process table is read while the run goes on."""
_STUCK_AFTER_S = 2.0
_OOM_SCORE = "500"


def main(arguments: list[str]) -> int:
    lifeline, report, console = (int(argument) for argument in arguments[:3])
    keep = [] if arguments[3] == "-" else [int(number) for number in arguments[3].split(",")]
    program = arguments[5:]
    for descriptor in (lifeline, report, console, *keep):
        os.set_inheritable(descriptor, False)
    return Guard(lifeline, report).run(program, console, keep)


class Guard:
    def __init__(self, lifeline: int, report: int) -> None:
        self._lifeline = lifeline
        self._report = report
        self._child = 0
        self._exited = False
        self._orphans_come_here = False
        self._known: dict[int, str] = {}
        """Without a subreaper: descendants seen so far, with their start time."""

    def run(self, program: list[str], console: int, keep: list[int]) -> int:
        # Signals for the agent's terminal or service are not for the guard: it ends when its work is done.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(woken, False)
        os.set_blocking(self._lifeline, False)
        signal.signal(signal.SIGCHLD, _wake_up)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._orphans_come_here = _prctl(_PR_SET_CHILD_SUBREAPER, 1)

        guard = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            self._become(program, console, keep, guard)
        os.close(console)
        for descriptor in keep:
            os.close(descriptor)
        self._tell(f"started {self._child}")

        poller = select.poll()
        poller.register(self._lifeline, select.POLLIN | select.POLLHUP)
        poller.register(woken, select.POLLIN)
        while not self._exited:
            poller.poll(None if self._orphans_come_here else _POLL_S * 1000)
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 512)
            self._reap()
            if not self._orphans_come_here:
                self._look()
            if not self._exited and self._obey():
                break
        self._kill_everything()
        return 0

    # ------------------------------------------------------------ the child
    def _become(self, program: list[str], console: int, keep: list[int], guard: int) -> None:
        """In the forked child: turn into the run's program. Never returns."""
        try:
            os.setsid()
            if sys.platform == "linux":
                # Should the guard itself be killed, the run's main process goes with it.
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != guard:
                    os._exit(1)
                # When memory runs out, the kernel is to choose a run and not the agent.
                with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - no pathlib here: it doubles the start-up
                    file.write(_OOM_SCORE)
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(console, 1)
            os.dup2(console, 2)
            for descriptor in keep:
                os.set_inheritable(descriptor, True)
            os.execv(program[0], program)  # noqa: S606 - no shell is the point
        except BaseException as error:
            self._tell(f"failed {error}")
        finally:
            os._exit(127)

    def _reap(self) -> bool:
        """Collect what ended; ``False`` when there is no child at all any more."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._exited = True
                code = os.waitstatus_to_exitcode(status)
                self._tell(f"exited {code}" if code >= 0 else f"killed {-code}")

    def _obey(self) -> bool:
        """Do what the agent asks; ``True`` when all is to be killed."""
        try:
            words = os.read(self._lifeline, 64)
        except BlockingIOError:
            return False
        if not words or b"K" in words:
            return True
        if b"T" in words:
            _kill(self._child, signal.SIGTERM)
        return False

    # ------------------------------------------------------------ the end
    def _kill_everything(self) -> None:
        began = time.monotonic()
        pause = 0.001
        told = False
        while True:
            left = self._reap()
            if not left and self._orphans_come_here:
                break  # a subreaper without children has no descendants either
            alive = self._descendants()
            if not alive and not left:
                break
            for pid in alive:
                _kill(pid, signal.SIGKILL)
            if not told and time.monotonic() - began > _STUCK_AFTER_S:
                self._tell("stuck " + " ".join(str(pid) for pid in alive))
                told = True
            time.sleep(pause)
            pause = min(pause * 2, 0.1)
        self._tell("clean")

    def _descendants(self) -> list[int]:
        if sys.platform == "linux":
            parents = _linux_processes()
            return _below(os.getpid(), parents)
        self._look()
        return list(self._known)

    def _look(self) -> None:
        """Without a subreaper: follow the process table, so that an orphan is known before its parent is gone."""
        table = _process_table()
        self._known = {
            pid: start for pid, start in self._known.items() if pid in table and table[pid][2] == start
        }
        parents = {pid: parent for pid, (parent, _, _) in table.items()}
        found = {pid for pid, (_, group, _) in table.items() if group == self._child}
        for root in (os.getpid(), *self._known):
            found.update(_below(root, parents))
        self._known.update({pid: table[pid][2] for pid in found if pid != os.getpid()})

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the agent may be gone
            os.write(self._report, line.replace("\n", " ").encode(errors="replace")[:2000] + b"\n")


def _wake_up(_number: int, _frame: object) -> None:
    """Having a handler is what makes the signal write to the wake-up pipe."""


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _linux_processes() -> dict[int, int]:
    """Parent of every process that is not a zombie."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - no pathlib here: it doubles the start-up
        if not name.isdigit():
            continue
        try:
            descriptor = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue
        try:
            text = os.read(descriptor, 1024)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        # The name may hold spaces and parentheses: what follows the last one is state and parent.
        words = text[text.rfind(b")") + 1 :].split(maxsplit=2)
        if len(words) >= 2 and words[0] not in (b"Z", b"X"):
            parents[int(name)] = int(words[1])
    return parents


def _process_table() -> dict[int, tuple[int, int, str]]:
    """Parent, group and start time of every process, as ``ps`` tells."""
    import subprocess

    command = ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat=,lstart="]
    listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    table: dict[int, tuple[int, int, str]] = {}
    for line in listing.splitlines():
        words = line.split(maxsplit=4)
        if len(words) == 5 and not words[3].startswith("Z"):
            table[int(words[0])] = (int(words[1]), int(words[2]), words[4])
    return table


def _below(root: int, parents: dict[int, int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            found.append(pid)
            waiting.append(pid)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
