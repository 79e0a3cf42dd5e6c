"""D-2, D-8: what was written before a crash is there after it, what was acknowledged may go."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codefy_agent.spool import Spool, SpoolRecord, SpoolTooNew

SMALL = 200
"""Segment size at which a few records make several segments."""


def records(first: int, count: int, size: int = 20) -> list[SpoolRecord]:
    return [SpoolRecord(f"record {seq}".encode().ljust(size, b".")) for seq in range(first, first + count)]


def frames(first: int, count: int, size: int = 20) -> list[bytes]:
    return [record.frame for record in records(first, count, size)]


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.seg"))


def test_records_come_back_byte_for_byte(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", segment_bytes=SMALL)
    for first in range(1, 41, 4):
        assert spool.append(first, records(first, 4)) == (20,) * 4
    assert len(segments(tmp_path / "spool")) > 3
    assert spool.read(1, 40) == frames(1, 40)
    assert spool.read(7, 23) == frames(7, 17)
    assert spool.read(40, 99) == frames(40, 1)
    assert spool.read(41, 99) == []
    assert (spool.last_seq, spool.acked_seq, spool.ended) == (40, 0, False)
    spool.close()


def test_a_restored_spool_goes_on_where_it_was(tmp_path: Path) -> None:
    spool = Spool(tmp_path, segment_bytes=SMALL)
    spool.append(1, records(1, 10))
    spool.append(11, records(11, 5))
    spool.close()
    again = Spool(tmp_path, segment_bytes=SMALL)
    assert (again.last_seq, again.sizes()) == (15, (20,) * 15)
    assert again.bytes_on_disk == sum(path.stat().st_size for path in segments(tmp_path))
    again.append(16, [SpoolRecord(b"the end", final=True)])
    again.close()
    last = Spool(tmp_path)
    assert last.ended and last.read(15, 16) == [*frames(15, 1), b"the end"]
    with pytest.raises(ValueError, match="run_finished"):
        last.append(17, records(17, 1))
    last.close()


def test_acknowledged_segments_go_and_the_seq_survives(tmp_path: Path) -> None:
    spool = Spool(tmp_path, segment_bytes=SMALL)
    for first in range(1, 31, 3):
        spool.append(first, records(first, 3))
    before = len(segments(tmp_path))
    spool.truncate(14)
    assert 1 < len(segments(tmp_path)) < before
    assert spool.read(15, 30) == frames(15, 16)
    assert spool.sizes() == (20,) * 16
    spool.truncate(30)
    assert len(segments(tmp_path)) == 1
    spool.close()
    again = Spool(tmp_path)
    assert again.last_seq == 30  # an empty spool would begin at 1 again, with seqs that are recorded already
    again.close()


def test_seqs_have_no_holes(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(1, records(1, 2))
    for wrong in (1, 2, 4):
        with pytest.raises(ValueError, match="does not follow"):
            spool.append(wrong, records(wrong, 1))
    spool.close()


def test_the_control_plane_may_know_more_than_a_torn_spool(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(1, records(1, 3))
    spool.truncate(7)
    assert (spool.last_seq, spool.read(1, 7)) == (7, [])
    spool.append(8, records(8, 1))
    spool.close()
    again = Spool(tmp_path)
    assert (again.acked_seq, again.last_seq, again.read(1, 9)) == (7, 8, frames(8, 1))
    again.close()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_tail_is_cut_off(cut: int, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(1, records(1, 10))
    spool.close()
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    again = Spool(tmp_path)
    assert 8 <= again.last_seq <= 9
    assert again.read(1, 10) == frames(1, again.last_seq)
    again.append(again.last_seq + 1, records(again.last_seq + 1, 2))
    again.close()
    third = Spool(tmp_path)
    assert third.read(1, 99) == frames(1, again.last_seq)
    third.close()


def test_damage_in_the_middle_costs_what_lies_behind_it_only(tmp_path: Path) -> None:
    spool = Spool(tmp_path, segment_bytes=SMALL)
    for first in range(1, 31):
        spool.append(first, records(first, 1))
    spool.close()
    damaged = segments(tmp_path)[1]
    begin = int(damaged.stem)
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1  # the last record of the second segment
    damaged.write_bytes(data)
    again = Spool(tmp_path, segment_bytes=SMALL)
    lost = int(segments(tmp_path)[2].stem) - 1
    assert begin <= lost
    assert again.last_seq == 30
    assert again.sizes()[lost - 1] == 0 and again.sizes().count(0) == 1
    assert again.read(1, 30) == [frame for seq, frame in enumerate(frames(1, 30), 1) if seq != lost]
    again.close()


def test_files_that_are_no_segments_are_put_aside(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.append(1, records(1, 2))
    spool.close()
    (tmp_path / "0000000000000003.seg").write_bytes(b"not a segment at all, but long enough")
    (tmp_path / "0000000000000004.seg").write_bytes(b"torn")
    again = Spool(tmp_path)
    assert again.last_seq == 2
    assert [path.name for path in segments(tmp_path)] == ["0000000000000001.seg"]
    again.close()


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "0000000000000001.seg"
    content = struct.pack("<8sHxxQ", b"CDFYSPOL", 2, 1) + b"something new"
    path.write_bytes(content)
    with pytest.raises(SpoolTooNew, match="format 2"):
        Spool(tmp_path)
    assert path.read_bytes() == content


def test_a_refusing_disk_leaves_the_spool_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    spool = Spool(tmp_path)
    spool.append(1, records(1, 3))
    real = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) > 10:
            return real(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        spool.append(4, records(4, 2))
    monkeypatch.undo()
    assert spool.last_seq == 3
    spool.append(4, records(4, 2))
    assert spool.read(1, 9) == frames(1, 5)
    spool.close()
    again = Spool(tmp_path)
    assert again.read(1, 9) == frames(1, 5)
    again.close()


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.lists(st.integers(0, 90), min_size=1, max_size=6)),
            st.tuples(st.just("ack"), st.integers(0, 100)),
            st.tuples(st.just("reopen"), st.just(0)),
            st.tuples(st.just("tear"), st.integers(1, 400)),
        ),
        max_size=30,
    )
)
def test_whatever_happens_a_spool_is_a_list_with_a_beginning(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder, segment_bytes=SMALL)
    written: dict[int, bytes] = {}
    acked = last = 0
    for verb, argument in steps:
        if verb == "append":
            assert isinstance(argument, list)
            batch = [SpoolRecord(bytes([seq % 256]) * size) for seq, size in enumerate(argument, last + 1)]
            spool.append(last + 1, batch)
            written.update({seq: record.frame for seq, record in enumerate(batch, last + 1)})
            last += len(batch)
        elif verb == "ack":
            assert isinstance(argument, int)
            acked = max(acked, last * argument // 100)
            spool.truncate(acked)
        else:
            spool.close()
            files = segments(folder)
            if verb == "tear" and files:
                assert isinstance(argument, int)
                # Only what was not acknowledged can be torn away without the control plane knowing more.
                files[-1].write_bytes(files[-1].read_bytes()[:-argument])
            spool = Spool(folder, segment_bytes=SMALL)
            if spool.last_seq < acked:
                spool.truncate(acked)
            assert acked <= spool.last_seq <= last
            last = spool.last_seq
            written = {seq: frame for seq, frame in written.items() if seq <= last}
        assert spool.last_seq == last
        assert spool.read(acked + 1, last) == [written[seq] for seq in range(acked + 1, last + 1)]
        assert spool.sizes()[-(last - acked) :] == tuple(
            len(written[seq]) for seq in range(acked + 1, last + 1)
        ) or (last == acked)
    spool.delete()
    assert not folder.exists()
