"""``python -m codefy_engine.child --read-fd R --write-fd W``: the run child (A-5).

With ``--discover FILE`` it runs nothing and says what it could run; see :mod:`codefy_engine.child.discover`.

Nothing heavy is imported here before the preamble is out: the agent measures by it that the interpreter lives and
which engine it has.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from codefy_engine import __version__
from codefy_engine.child.process import prepare_process
from codefy_engine.child.writer import write_all
from codefy_protocol import PROTOCOL_VERSION
from codefy_protocol.pipe import Preamble, encode_chunk

USAGE = "usage: python -m codefy_engine.child --read-fd FD --write-fd FD | --discover FILE"


def parse_fds(arguments: list[str]) -> tuple[int, int]:
    """The descriptors to read from and to write to.

    Raises:
        ValueError: the command line is not as in the usage.
    """
    if len(arguments) != 4 or arguments[::2] != ["--read-fd", "--write-fd"]:
        raise ValueError(USAGE)
    try:
        read_fd, write_fd = int(arguments[1]), int(arguments[3])
        os.fstat(read_fd)
        os.fstat(write_fd)
    except (ValueError, OSError) as error:
        raise ValueError(f"{USAGE}\n{error}") from None
    return read_fd, write_fd


def main() -> int:
    if sys.argv[1:2] == ["--discover"] and len(sys.argv) == 3:
        from codefy_engine.child.discover import print_discovery

        return print_discovery(Path(sys.argv[2]))
    try:
        read_fd, write_fd = parse_fds(sys.argv[1:])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    prepare_process(read_fd, write_fd)
    preamble = Preamble(protocol_version=PROTOCOL_VERSION, engine_version=__version__, pid=os.getpid())
    try:
        write_all(write_fd, encode_chunk([preamble]))
    except OSError:
        # The agent is gone already.
        return 1

    from codefy_engine.child.serve import serve

    return serve(read_fd, write_fd)


if __name__ == "__main__":
    status = main()
    from codefy_engine.child.process import leave

    leave(status)
