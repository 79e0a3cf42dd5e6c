"""When silence counts."""

from __future__ import annotations

from codefy_protocol.liveness import SilenceWatch


def test_silence_counts_from_the_last_frame() -> None:
    watch = SilenceWatch(30.0, 100.0)
    watch.heard(110.0)
    assert watch.deadline == 140.0
    assert not watch.silent(139.9)
    assert watch.silent(140.0)
    assert watch.last_heard == 110.0


def test_a_late_check_re_arms_once_per_silence() -> None:
    watch = SilenceWatch(30.0, 0.0)
    assert not watch.silent(300.0)
    assert watch.deadline == 310.0
    assert watch.silent(600.0)
    watch.heard(600.0)
    assert not watch.silent(900.0)


def test_time_without_reading_does_not_count() -> None:
    watch = SilenceWatch(30.0, 0.0)
    watch.pause(10.0)
    assert watch.deadline is None
    assert not watch.silent(1000.0)
    watch.pause(500.0)  # it is paused already
    watch.resume(1000.0)
    assert watch.deadline == 1020.0
    watch.resume(2000.0)  # it reads already
    assert watch.silent(1020.5)
