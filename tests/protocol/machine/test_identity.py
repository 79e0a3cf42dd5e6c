from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from codefy_protocol.machine import boot_id, identity, machine_id, platform_name


def test_a_machine_is_known_by_a_hash_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machine-id"
    file.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(identity, "_LINUX_MACHINE_IDS", (file,))
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine_id() == hashlib.sha256(b"0123456789abcdef0123456789abcdef").hexdigest()


@pytest.mark.parametrize("content", [None, "", "\n", "uninitialized\n", "\udcff"])
def test_a_machine_without_an_id_is_nobody(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    if content is not None:
        file.write_text(content, encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(identity, "_LINUX_MACHINE_IDS", (file,))
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine_id() == ""


def test_the_second_place_counts_when_the_first_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").touch()
    (tmp_path / "second").write_text("abc\n")
    monkeypatch.setattr(identity, "_LINUX_MACHINE_IDS", (tmp_path / "first", tmp_path / "second"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine_id() == hashlib.sha256(b"abc").hexdigest()


def test_identity_is_steady() -> None:
    assert (machine_id(), boot_id()) == (machine_id(), boot_id())
    assert platform_name().split()
