"""The guard on Windows: same arguments and words as ``guard.py``, with a job object doing the work.

The numbers on the command line are inherited handles. The child is created suspended, joins a job that is killed when
its last handle closes, and only then begins to run; so whatever it starts is in the job. The guard holds the only
handle of the job: when the guard ends, however it does, the whole tree ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
import time

if sys.platform != "win32":
    raise SystemExit("guard_windows.py is for Windows")

import msvcrt
from ctypes import wintypes

_CREATE_SUSPENDED = 0x00000004
_CREATE_NO_WINDOW = 0x08000000
_BASIC_ACCOUNTING = 1
_EXTENDED_LIMIT = 9
_KILL_ON_JOB_CLOSE = 0x00002000
_KILLED = 0x40010009
"""Exit code by which a forced end is told from the program's own."""
_STUCK_AFTER_S = 2.0


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("limit_flags", wintypes.DWORD),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_process_limit", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority_class", wintypes.DWORD),
        ("scheduling_class", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    _fields_ = (
        ("total_user_time", ctypes.c_int64),
        ("total_kernel_time", ctypes.c_int64),
        ("this_period_user_time", ctypes.c_int64),
        ("this_period_kernel_time", ctypes.c_int64),
        ("page_faults", wintypes.DWORD),
        ("total_processes", wintypes.DWORD),
        ("active_processes", wintypes.DWORD),
        ("terminated_processes", wintypes.DWORD),
    )


def _kernel() -> ctypes.WinDLL:
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = wintypes.HANDLE
    kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
    kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
    kernel.QueryInformationJobObject.argtypes = (
        wintypes.HANDLE,
        ctypes.c_int,
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.LPVOID,
    )
    kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
    kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
    kernel.TerminateProcess.argtypes = (wintypes.HANDLE, wintypes.UINT)
    return kernel


class Job:
    """A job whose processes end with its last handle."""

    def __init__(self) -> None:
        self._kernel = _kernel()
        self._handle = self._kernel.CreateJobObjectW(None, None)
        if not self._handle:
            raise ctypes.WinError(ctypes.get_last_error())
        limits = _ExtendedLimits()
        limits.basic.limit_flags = _KILL_ON_JOB_CLOSE
        size = ctypes.sizeof(limits)
        if not self._kernel.SetInformationJobObject(
            self._handle, _EXTENDED_LIMIT, ctypes.byref(limits), size
        ):
            raise ctypes.WinError(ctypes.get_last_error())

    def add(self, process: int) -> None:
        """Put a process into the job."""
        if not self._kernel.AssignProcessToJobObject(self._handle, process):
            raise ctypes.WinError(ctypes.get_last_error())

    def kill(self) -> None:
        """End every process of the job."""
        self._kernel.TerminateJobObject(self._handle, _KILLED)

    def kill_one(self, process: int) -> None:
        """End one process."""
        self._kernel.TerminateProcess(process, _KILLED)

    def active(self) -> int:
        """How many processes live in the job."""
        accounting = _Accounting()
        size = ctypes.sizeof(accounting)
        answered = self._kernel.QueryInformationJobObject(
            self._handle, _BASIC_ACCOUNTING, ctypes.byref(accounting), size, None
        )
        return int(accounting.active_processes) if answered else 0


def main(arguments: list[str]) -> int:
    lifeline_handle, report_handle, console = (int(argument) for argument in arguments[:3])
    keep = [] if arguments[3] == "-" else [int(number) for number in arguments[3].split(",")]
    lifeline = msvcrt.open_osfhandle(lifeline_handle, os.O_RDONLY | os.O_BINARY)
    report = msvcrt.open_osfhandle(report_handle, os.O_WRONLY | os.O_BINARY)

    def tell(line: str) -> None:
        with contextlib.suppress(OSError):  # the agent may be gone
            os.write(report, line.replace("\n", " ").encode(errors="replace")[:2000] + b"\n")

    job = Job()
    startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [*keep]})
    output = msvcrt.open_osfhandle(console, os.O_WRONLY | os.O_BINARY)
    try:
        child = subprocess.Popen(
            arguments[5:],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            startupinfo=startup,
            close_fds=True,
            creationflags=_CREATE_SUSPENDED | _CREATE_NO_WINDOW,
        )
    except OSError as error:
        tell(f"failed {error}")
        return 127
    process = int(child._handle)  # type: ignore[attr-defined] # the standard library has no other way to it
    try:
        job.add(process)
    except OSError as error:
        child.kill()
        tell(f"failed {error}")
        return 127
    # The thread's handle is closed by the standard library already; this resumes all threads of the process.
    ctypes.WinDLL("ntdll").NtResumeProcess(wintypes.HANDLE(process))
    os.close(output)
    tell(f"started {child.pid}")

    def obey() -> None:
        while True:
            try:
                words = os.read(lifeline, 64)
            except OSError:
                words = b""
            if not words or b"K" in words:
                job.kill()
                return
            if b"T" in words:
                job.kill_one(process)

    threading.Thread(target=obey, daemon=True).start()
    code = child.wait() & 0xFFFFFFFF
    tell("killed 9" if code == _KILLED else f"exited {code}")
    began = time.monotonic()
    told = False
    while job.active():
        job.kill()
        if not told and time.monotonic() - began > _STUCK_AFTER_S:
            tell("stuck")
            told = True
        time.sleep(0.01)
    tell("clean")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
