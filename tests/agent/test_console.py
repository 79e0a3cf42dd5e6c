"""P-7, V-8, X-5: what a run prints is kept within bounds, streamed with offsets, and never shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from codefy_agent.console import ConsoleLog, ConsoleStream
from codefy_protocol.redaction import REDACTED


def stream(tmp_path: Path, *pieces: bytes, secrets: tuple[str, ...] = ()) -> tuple[str, str]:
    """The records' text and the log's."""
    console = ConsoleStream(tmp_path / "output.log", secrets)
    bodies = []
    for piece in pieces:
        console.feed(piece)
        bodies += console.records()
    bodies += console.finish()
    offset = 0
    for body in bodies:
        assert (body.offset, body.size) == (offset, len(body.text.encode()))
        offset += body.size
    return "".join(body.text for body in bodies), (tmp_path / "output.log").read_text()


def test_records_and_log_say_the_same(tmp_path: Path) -> None:
    text, log = stream(tmp_path, b"first\n", b"second\n")
    assert text == log == "first\nsecond\n"


def test_a_character_cut_in_two_is_one_character(tmp_path: Path) -> None:
    data = "訓練中 ✓\n".encode()
    text, log = stream(tmp_path, *(data[index : index + 1] for index in range(len(data))))
    assert text == log == "訓練中 ✓\n"


def test_bytes_that_are_no_text_are_shown_as_such(tmp_path: Path) -> None:
    text, log = stream(tmp_path, b"a\xffb\xe8\xa8")
    assert text == log == "a\ufffdb\ufffd"


def test_the_tail_is_the_last_4_kib(tmp_path: Path) -> None:
    console = ConsoleStream(tmp_path / "output.log", ["password"])
    for number in range(1000):
        console.feed(f"line {number} password\n".encode())
    console.finish()
    assert console.tail.endswith(f"line 999 {REDACTED}\n")
    assert 4000 < len(console.tail.encode()) <= 4096
    assert "password" not in console.tail


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_log_keeps_its_head_and_its_tail(chunk: int, tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    log = ConsoleLog(path, head_bytes=100, tail_bytes=60)
    data = b"".join(b"%04d\n" % number for number in range(1000))
    for begin in range(0, len(data), chunk):
        log.write(data[begin : begin + chunk])
    log.close()
    kept = path.read_bytes()
    assert kept.startswith(data[:100])
    head, _, rest = kept.partition(b"\n[")
    words, _, tail = rest.partition(b"]\n")
    left_out = int(words.split()[1])
    assert data.endswith(tail) and 30 <= len(tail) <= 60
    assert len(head) + left_out + len(tail) == len(data)
    assert [entry.name for entry in tmp_path.iterdir()] == ["output.log"]


def test_a_log_that_fits_is_whole(tmp_path: Path) -> None:
    log = ConsoleLog(tmp_path / "output.log", head_bytes=10, tail_bytes=20)
    log.write(b"0123456789abcdef")
    log.close()
    assert (tmp_path / "output.log").read_bytes() == b"0123456789abcdef"


def test_a_full_disk_stops_the_log_and_not_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: ConsoleLog, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ConsoleLog, "write", refuse)
    console = ConsoleStream(tmp_path / "output.log", ())
    console.feed(b"still here\n")
    assert [body.text for body in console.finish()] == ["still here\n"]
    assert console.log_error is not None and console.log_error.errno == 28
